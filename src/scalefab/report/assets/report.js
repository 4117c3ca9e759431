"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;

  function theme() {
    return data.themes[dark.matches && !printing ? "dark" : "light"];
  }

  function axis(colours, title, more) {
    return Object.assign({
      title: { text: title, font: { size: 13, color: colours.soft } },
      color: colours.soft, gridcolor: colours.line, linecolor: colours.line, zerolinecolor: colours.line,
      tickfont: { size: 12 }, automargin: true
    }, more);
  }

  function layout(id, colours, more) {
    const box = document.getElementById(id);
    return Object.assign({
      autosize: true, width: box.clientWidth, height: box.clientHeight,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui,-apple-system,'Segoe UI',Roboto,sans-serif", size: 13, color: colours.ink },
      margin: { l: 56, r: 12, t: 8, b: 48 }, hovermode: "closest",
      hoverlabel: { bgcolor: colours.panel, bordercolor: colours.line, font: { color: colours.ink } }
    }, more);
  }

  const options = { displaylogo: false, displayModeBar: false };

  function drawLoad(id, key, verb, colours) {
    const load = data.load;
    if (!document.getElementById(id)) { return; }
    const ramp = colours.ramp.map(function (colour, i) { return [i / (colours.ramp.length - 1), colour]; });
    Plotly.react(id, [{
      type: "heatmap", z: load[key], x: load.time_us, y: load.rows, zmin: 0, zmax: 100, colorscale: ramp,
      colorbar: { title: { text: "%", font: { size: 12 } }, thickness: 10, len: 1, outlinewidth: 0, tickfont: { size: 12, color: colours.soft } },
      hovertemplate: "GPU %{y} " + verb + " at %{z:.1f} % of line rate<br>around %{x:.2f} µs<extra></extra>"
    }], layout(id, colours, {
      xaxis: axis(colours, "time, µs", { showgrid: false, zeroline: false }),
      yaxis: axis(colours, "GPU", { showgrid: false, zeroline: false, autorange: "reversed" })
    }), options);
  }

  function drawFocus(colours) {
    const focus = data.focus;
    if (!focus || !document.getElementById("plot-focus")) { return; }
    const name = "GPU " + focus.gpu;
    Plotly.react("plot-focus", [{
      type: "scatter", mode: "lines", name: "mean GPU " + focus.verb, x: focus.time_us, y: focus.mean, fill: "tozeroy",
      line: { width: 1.5, color: colours.bar }, fillcolor: colours.bar + "40",
      hovertemplate: "the mean GPU " + focus.verb + " at %{y:.1f} % of line rate<br>around %{x:.2f} µs<extra></extra>"
    }, {
      type: "scatter", mode: "lines", name: name + " " + focus.other_verb, x: focus.time_us, y: focus.other,
      line: { width: 1.2, color: colours.accent, dash: "dot" },
      hovertemplate: name + " " + focus.other_verb + " at %{y:.1f} % of line rate<br>around %{x:.2f} µs<extra></extra>"
    }, {
      type: "scatter", mode: "lines", name: name + " " + focus.verb, x: focus.time_us, y: focus.busiest, line: { width: 2.5, color: colours.accent },
      hovertemplate: name + " " + focus.verb + " at %{y:.1f} % of line rate<br>around %{x:.2f} µs<extra></extra>"
    }], layout("plot-focus", colours, {
      xaxis: axis(colours, "time, µs", { zeroline: false }),
      yaxis: axis(colours, "% of line rate", { range: [0, Math.max(104, Math.max.apply(null, focus.busiest) * 1.04)] }),
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 }, traceorder: "reversed" }, showlegend: true
    }), options);
    const mean = focus.mebibytes.reduce(function (a, b) { return a + b; }, 0) /
      Math.max(1, focus.mebibytes.filter(function (b) { return b > 0; }).length);
    Plotly.react("plot-shares", [{
      type: "bar", y: focus.mebibytes, x: focus.mebibytes.map(function (_, i) { return i; }),
      marker: { color: focus.mebibytes.map(function (_, i) { return i === focus.gpu ? colours.accent : colours.bar; }), line: { width: 0 } },
      hovertemplate: "GPU %{x} " + focus.verb + " %{y:.2f} MiB<extra></extra>"
    }], layout("plot-shares", colours, {
      xaxis: axis(colours, "GPU", { showgrid: false, zeroline: false }),
      yaxis: axis(colours, "MiB on the wire", { rangemode: "tozero" }), bargap: 0.15, showlegend: false,
      shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: mean, y1: mean, line: { color: colours.ink, width: 1, dash: "dot" } }],
      annotations: [{ xref: "paper", x: 1, y: mean, xanchor: "right", yanchor: "bottom", text: "mean", showarrow: false, font: { size: 12, color: colours.ink } }]
    }), options);
  }

  function csvOf(table) {
    return Array.prototype.map.call(table.rows, function (row) {
      return Array.prototype.filter.call(row.cells, function (cell) { return !cell.classList.contains("bar"); }).map(function (cell) {
        const text = cell.textContent.replace(/\u00a0/g, " ").trim();
        return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
      }).join(",");
    }).join("\n") + "\n";
  }

  function copyText(text) {
    function byHand() {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.appendChild(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done ? Promise.resolve() : Promise.reject(new Error("copy"));
    }
    return navigator.clipboard ? navigator.clipboard.writeText(text).catch(byHand) : byHand();
  }

  function addCopyButtons() {
    document.querySelectorAll("div.scroll > table").forEach(function (table) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy as CSV";
      button.addEventListener("click", function () {
        copyText(csvOf(table)).then(function () { button.textContent = "Copied"; }, function () { button.textContent = "Not allowed here"; });
        window.setTimeout(function () { button.textContent = "Copy as CSV"; }, 2000);
      });
      table.parentNode.parentNode.insertBefore(button, table.parentNode);
    });
  }

  function drawLatency(colours) {
    if (!document.getElementById("plot-latency")) { return; }
    const hues = [colours.bar, colours.accent, colours.good, colours.soft, colours.ink];
    const times = data.latency.flatMap(function (curve) { return [curve.us[0], curve.us[curve.us.length - 1]]; });
    const least = Math.min.apply(null, times), most = Math.max.apply(null, times);
    const dashes = ["solid", "solid", "solid", "dash", "dot"];
    Plotly.react("plot-latency", data.latency.map(function (curve, i) {
      const frames = curve.name === "data frames";
      return {
        type: "scatter", mode: curve.us.length > 1 ? "lines" : "markers", name: curve.name, x: curve.us, y: curve.percent,
        line: { shape: "hv", width: 2, color: frames ? colours.soft : hues[i % hues.length], dash: frames ? "dash" : dashes[i % dashes.length] },
        hovertemplate: "%{y:.1f} % within %{x:.3f} µs<extra>" + curve.name + "</extra>"
      };
    }), layout("plot-latency", colours, {
      xaxis: axis(colours, "latency, µs (log scale)", { type: "log", dtick: most < 10 * least ? "D1" : "D2" }),
      yaxis: axis(colours, "share, %", { range: [0, 101] }),
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } }, showlegend: true
    }), options);
  }

  function drawGoodput(colours) {
    const goodput = data.goodput;
    if (!goodput || !document.getElementById("plot-goodput")) { return; }
    Plotly.react("plot-goodput", [{
      type: "scatter", mode: "lines", x: goodput.time_us, y: goodput.gigabytes, fill: "tozeroy",
      line: { width: 1.8, color: colours.bar, shape: "hvh" }, fillcolor: colours.bar + "40",
      hovertemplate: "%{y:.1f} GB/s around %{x:.2f} µs<extra></extra>"
    }], layout("plot-goodput", colours, {
      xaxis: axis(colours, "time, µs", { zeroline: false, range: [0, goodput.end_us] }),
      yaxis: axis(colours, "goodput, GB/s", { rangemode: "tozero" }), showlegend: false,
      shapes: goodput.faults_us.map(function (at) {
        return { type: "line", yref: "paper", x0: at, x1: at, y0: 0, y1: 1, line: { color: colours.accent, width: 1.2, dash: "dot" } };
      }),
      annotations: goodput.faults_us.slice(0, goodput.faults_us.length > 12 ? 1 : 12).map(function (at) {
        return { x: at, yref: "paper", y: 1, yanchor: "bottom", text: "fault", showarrow: false, font: { size: 12, color: colours.accent } };
      }),
      margin: { l: 56, r: 12, t: 24, b: 48 }
    }), options);
  }

  function draw() {
    const colours = theme();
    drawGoodput(colours);
    drawFocus(colours);
    drawLoad("plot-out", "out", "sends", colours);
    drawLoad("plot-into", "into", "receives", colours);
    drawLatency(colours);
  }

  let waiting = 0;
  window.addEventListener("resize", function () {
    window.cancelAnimationFrame(waiting);
    waiting = window.requestAnimationFrame(draw);
  });
  dark.addEventListener("change", draw);
  window.addEventListener("beforeprint", function () { printing = true; draw(); });
  window.addEventListener("afterprint", function () { printing = false; draw(); });
  addCopyButtons();
  draw();
})();

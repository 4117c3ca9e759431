"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const box = document.getElementById("plot-loss");
  let printing = false;

  function axis(colours, title, more) {
    return Object.assign({
      title: { text: title, font: { size: 13, color: colours.soft } }, type: "log", dtick: 2, exponentformat: "power",
      color: colours.soft, gridcolor: colours.line, linecolor: colours.line, zeroline: false,
      tickfont: { size: 12 }, automargin: true
    }, more);
  }

  function draw() {
    const colours = data.themes[dark.matches && !printing ? "dark" : "light"];
    const hues = [colours.soft, colours.accent, colours.good, colours.bar];
    const dashes = ["dot", "solid", "dash", "solid"];
    const narrow = box.clientWidth < 560;
    const traces = data.curves.map(function (curve, i) {
      return {
        type: "scatter", mode: "lines", name: curve.name, x: curve.ber, y: curve.loss,
        line: { width: 2.5, color: hues[i % hues.length], dash: dashes[i % dashes.length] },
        hovertemplate: "frame loss %{y:.2e} at bit error ratio %{x:.2e}<extra>" + curve.name + "</extra>"
      };
    });
    data.curves.forEach(function (curve, i) {
      if (curve.at === null || data.ber <= 0) { return; }
      traces.push({
        type: "scatter", mode: "markers", showlegend: false, x: [data.ber], y: [curve.at],
        marker: { size: 9, color: hues[i % hues.length], line: { width: 2, color: colours.paper } },
        hovertemplate: "frame loss %{y:.2e} at bit error ratio %{x:.2e}<extra>" + curve.name + "</extra>"
      });
    });
    const shapes = [{
      type: "line", xref: "paper", x0: 0, x1: 1, y0: data.target, y1: data.target,
      line: { color: colours.soft, width: 1, dash: "dash" }
    }];
    const notes = [{
      xref: "paper", x: 0, xanchor: "left", y: Math.log10(data.target), yanchor: "bottom", showarrow: false,
      text: " frame loss " + data.target.toExponential(1), font: { size: 12, color: colours.soft }
    }];
    if (data.ber > 0) {
      shapes.push({
        type: "line", yref: "paper", y0: 0, y1: 1, x0: data.ber, x1: data.ber,
        line: { color: colours.ink, width: 1 }
      });
      notes.push({
        yref: "paper", y: 1, yanchor: "top", x: Math.log10(data.ber), xanchor: data.ber > 1e-6 ? "right" : "left",
        showarrow: false, text: " BER " + data.ber.toExponential(Number(data.ber.toPrecision(1)) === data.ber ? 0 : 2) + " ",
        font: { size: 12, color: colours.ink }
      });
    }
    Plotly.react(box, traces, {
      autosize: true, width: box.clientWidth, height: box.clientHeight,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui,-apple-system,'Segoe UI',Roboto,sans-serif", size: 13, color: colours.ink },
      margin: { l: 64, r: 12, t: 8, b: 48 }, hovermode: "closest",
      hoverlabel: { bgcolor: colours.panel, bordercolor: colours.line, font: { color: colours.ink } },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: narrow ? 12 : 13 } }, showlegend: true,
      xaxis: axis(colours, "bit error ratio before FEC", { dtick: 1 }),
      yaxis: axis(colours, "frame loss ratio, before LLR", { range: [-20, 0.2] }),
      shapes: shapes, annotations: notes
    }, { displaylogo: false, displayModeBar: false });
  }

  let waiting = 0;
  window.addEventListener("resize", function () {
    window.cancelAnimationFrame(waiting);
    waiting = window.requestAnimationFrame(draw);
  });
  dark.addEventListener("change", draw);
  window.addEventListener("beforeprint", function () { printing = true; draw(); });
  window.addEventListener("afterprint", function () { printing = false; draw(); });
  draw();
})();

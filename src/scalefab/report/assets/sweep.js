"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;

  function axis(colours, title, more) {
    return Object.assign({
      title: { text: title, font: { size: 13, color: colours.soft } },
      color: colours.soft, gridcolor: colours.line, linecolor: colours.line, zeroline: false,
      tickfont: { size: 12 }, automargin: true
    }, more);
  }

  function draw() {
    const colours = data.themes[dark.matches && !printing ? "dark" : "light"];
    const hues = [colours.accent, colours.bar, colours.good, colours.soft];
    const dashes = ["solid", "dash", "dot", "dashdot"];
    data.figures.forEach(function (figure) {
      const box = document.getElementById("plot-" + figure.name);
      const traces = figure.series.map(function (series, i) {
        return {
          type: "scatter", mode: "lines+markers", name: series.name, x: series.x, y: series.y,
          line: { width: 2.5, color: hues[i % hues.length], dash: dashes[Math.floor(i / hues.length) % dashes.length] },
          marker: { size: 8, color: hues[i % hues.length] },
          hovertemplate: "%{y} at " + data.x + " = %{x}<extra>" + series.name + "</extra>"
        };
      });
      Plotly.react(box, traces, {
        autosize: true, width: box.clientWidth, height: box.clientHeight,
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: "system-ui,-apple-system,'Segoe UI',Roboto,sans-serif", size: 13, color: colours.ink },
        margin: { l: 64, r: 12, t: 8, b: 48 }, hovermode: "closest", showlegend: figure.series.length > 1,
        legend: { orientation: "h", y: 1.12, font: { size: 12, color: colours.ink } },
        hoverlabel: { bgcolor: colours.panel, bordercolor: colours.line, font: { color: colours.ink } },
        xaxis: axis(colours, data.x, data.numbers ? {} : { type: "category", categoryorder: "array", categoryarray: data.order }),
        yaxis: axis(colours, figure.title, { rangemode: "tozero" })
      }, { displayModeBar: false, responsive: false });
    });
  }

  dark.addEventListener("change", draw);
  window.addEventListener("resize", draw);
  window.addEventListener("beforeprint", function () { printing = true; draw(); });
  window.addEventListener("afterprint", function () { printing = false; draw(); });
  draw();
})();

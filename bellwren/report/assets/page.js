"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
  const axis = (label, more) => ({ label, stroke: ink, grid: { stroke: line }, ticks: { stroke: line }, ...more });

  for (const box of document.querySelectorAll("[data-kind]")) {
    box.addEventListener("change", () => {
      for (const bar of document.querySelectorAll(".bar." + box.dataset.kind)) bar.classList.toggle("off", !box.checked);
    });
  }

  function draw(id, options, columns) {
    const place = document.getElementById(id);
    const width = () => Math.max(280, place.clientWidth);
    const plot = new uPlot({ height: 300, width: width(), ...options }, columns, place);
    addEventListener("resize", () => plot.setSize({ width: width(), height: 300 }));
  }

  const forecast = data.forecast;
  if (forecast) {
    draw("forecast", {
      scales: { x: { time: false, distr: 3, log: 2 }, usd: {} },
      axes: [axis("workers, " + forecast.memory_mb + " MB each"), axis("seconds"),
        axis("USD", { scale: "usd", side: 1, grid: { show: false }, size: 80 })],
      series: [{ label: "workers" },
        { label: "forecast, s", stroke: "#3b6fd4", width: 2 },
        { label: "95 %, s", stroke: "#3b6fd4", dash: [4, 4] },
        { label: "cost, USD", stroke: "#1b7f4b", scale: "usd" },
        { label: "chosen, s", stroke: "#e08a1e", points: { show: true, size: 10 } },
        { label: "measured, s", stroke: "#d64545", points: { show: true, size: 12, fill: "#d64545" } }],
      bands: [{ series: [2, 1], fill: "rgba(59, 111, 212, .18)" }],
    }, [forecast.workers, forecast.runtime_s, forecast.runtime_p95_s, forecast.cost_usd,
      forecast.workers.map((one, at) => one === forecast.chosen ? forecast.runtime_s[at] : null), forecast.actual_s]);
  }

  const steps = data.supersteps;
  if (steps) {
    const colours = ["#3b6fd4", "#1fa187", "#66708a", "#e08a1e", "#b65bd1", "#d64545", "#46b8da", "#8a6d3b", "#1b7f4b"];
    const names = Object.keys(steps.series);
    draw("supersteps", {
      scales: { x: { time: false }, ...Object.fromEntries(names.map((name) => [name, {}])) },
      axes: [axis("superstep"), axis("seconds", { scale: "seconds" })],
      series: [{ label: "superstep" },
        ...names.map((name, at) => ({ label: name, scale: name, stroke: colours[at % colours.length] }))],
    }, [steps.supersteps, ...names.map((name) => steps.series[name])]);
  }
})();

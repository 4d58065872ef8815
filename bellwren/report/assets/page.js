"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
  const short = (number) => number == null ? "–" : String(Number(number.toPrecision(3)));
  const value = (_, number) => short(number);
  const axis = (label, more) => ({ label, stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, ...more });

  for (const box of document.querySelectorAll("[data-kind]")) {
    box.addEventListener("change", () => {
      for (const bar of document.querySelectorAll(".bar." + box.dataset.kind)) bar.classList.toggle("off", !box.checked);
    });
  }

  // Pointing, touching and the arrow keys all show a bar's facts below the timeline.
  const timeline = document.querySelector(".timeline svg");
  const detail = document.getElementById("detail");
  if (timeline) {
    let at = null;
    const show = (bar) => {
      at?.classList.remove("at");
      at = bar;
      at.classList.add("at");
      detail.textContent = bar.querySelector("title").textContent;
    };
    timeline.addEventListener("pointerover", (event) => {
      const bar = event.target.closest(".bar");
      if (bar) show(bar);
    });
    const box = (bar) => { const { x, y } = bar.getBBox(); return [y, x]; };
    timeline.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const bars = [...timeline.querySelectorAll(".bar:not(.off)")].map((bar) => [bar, box(bar)]);
      bars.sort(([, one], [, other]) => one[0] - other[0] || one[1] - other[1]);
      const here = bars.findIndex(([bar]) => bar === at);
      const next = here < 0 ? 0 : (here + step + bars.length) % bars.length;
      if (bars.length) show(bars[next][0]);
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
        axis("USD", { scale: "usd", side: 1, grid: { show: false }, size: 80, values: (_, marks) => marks.map(short) })],
      series: [{ label: "workers" },
        { label: "forecast, s", stroke: "#3b6fd4", width: 2, spanGaps: true, value },
        { label: "95 %, s", stroke: "#3b6fd4", dash: [4, 4], spanGaps: true, value },
        { label: "cost, USD", stroke: "#1b7f4b", scale: "usd", spanGaps: true, value },
        { label: "chosen, s", stroke: "#e08a1e", points: { show: true, size: 10 }, value },
        { label: "measured, s", stroke: "#d64545", points: { show: true, size: 12, fill: "#d64545" }, value }],
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
        ...names.map((name, at) => ({ label: name, scale: name, value, stroke: colours[at % colours.length] }))],
    }, [steps.supersteps, ...names.map((name) => steps.series[name])]);
  }
})();

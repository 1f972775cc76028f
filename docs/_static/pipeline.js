// Steps the animated pipeline: at clock edge t, stage s works on sample t - s.
for (const pipe of document.querySelectorAll(".pipe")) {
  const samples = Number(pipe.dataset.samples);
  const stages = [...pipe.querySelectorAll("[data-stage]")];
  const last = Math.max(...stages.map((stage) => Number(stage.dataset.stage)));
  const ends = last + samples;
  const button = (name) => pipe.querySelector(`[data-do=${name}]`);
  let edge = 0;
  let timer = 0;

  const show = () => {
    for (const stage of stages) {
      const sample = edge - Number(stage.dataset.stage);
      const here = sample >= 0 && sample < samples;
      if (here) stage.dataset.sample = sample;
      else delete stage.dataset.sample;
      for (const output of stage.querySelectorAll("output")) {
        output.textContent = here ? output.dataset.values.split(" ")[sample] : "·";
      }
    }
    const words = edge ? `after clock edge ${edge} of ${ends}` : "before the first clock edge";
    pipe.querySelector(".pipe-time").textContent = words;
  };
  const move = (by) => {
    edge = (edge + by + ends + 1) % (ends + 1);
    show();
  };
  const play = (on) => {
    clearInterval(timer);
    timer = on ? setInterval(() => move(1), 1500) : 0;
    button("play").textContent = on ? "Pause" : "Play";
  };

  button("play").addEventListener("click", () => play(!timer));
  for (const [name, by] of [["back", -1], ["on", 1]]) {
    button(name).addEventListener("click", () => { play(false); move(by); });
  }
  show();
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
}

// The little that pages cannot do without a script: dropping files, progress, copying, and sentences while one chooses.
"use strict";

const byId = (id) => document.getElementById(id);
const words = document.body.dataset;

function dropping() {
  const place = byId("drop");
  if (!place) return;
  place.hidden = false;
  const said = byId("dropped");
  const send = async (file) => {
    if (file.size > Number(place.dataset.limit)) {
      said.textContent = words.large;
      return;
    }
    said.textContent = words.taking.replace("{name}", () => file.name);
    try {
      const answer = await fetch(`/open/dropped?name=${encodeURIComponent(file.name)}`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: file,
      });
      const text = await answer.text();
      if (answer.ok) window.location.assign("/columns");
      else said.textContent = text;
    } catch {
      said.textContent = words.silent;
    }
  };
  byId("file").addEventListener("change", (event) => event.target.files.length && send(event.target.files[0]));
  for (const name of ["dragover", "dragenter"]) {
    place.addEventListener(name, (event) => { event.preventDefault(); place.classList.add("over"); });
  }
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
}

function working() {
  if (!byId("working")) return;
  const look = async () => {
    let job = null;
    try {
      job = await (await fetch("/work")).json();
    } catch {
      byId("step").textContent = words.silent;
      return;
    }
    if (job === null) {
      // The question whether to close the studio stays open until it is answered or folded.
      if (document.querySelector("footer details[open]")) window.setTimeout(look, 300);
      else {
        window.history.scrollRestoration = "manual"; // for `arriving`, which the entry of the history outlives
        window.location.reload();
      }
      return;
    }
    if (job.total > 0) {
      byId("progress").max = job.total;
      byId("progress").value = job.done;
    }
    byId("step").textContent = `${job.step}, ${Math.round(job.seconds)} s`;
    window.setTimeout(look, 300);
  };
  window.setTimeout(look, 150);
}

function copying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.querySelector(`[data-same="${button.dataset.copy}"]`).textContent);
      button.textContent = words.copied;
    });
  }
}

function sliding() {
  const slide = byId("slide");
  if (!slide) return;
  slide.hidden = false;
  slide.addEventListener("input", () => { byId("fraction").value = slide.value; });
  byId("fraction").addEventListener("input", (event) => { slide.value = event.target.value.replace(",", ".") || 100; });
}

function choosing() {
  const form = byId("goal");
  if (!form) return;
  let asked = 0;
  const tell = async () => {
    const mine = ++asked;
    const answer = await fetch("/goal/words", { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const said = await answer.json();
    if (mine !== asked) return;
    byId("wrong").textContent = said.error || "";
    byId("sentences").replaceChildren(...said.sentences.map((text) => {
      const line = document.createElement("li");
      line.textContent = text;
      return line;
    }));
  };
  form.addEventListener("input", tell);
  // What was typed before this script ran, or is there again after a reload.
  if ([...form.querySelectorAll("input:not([type=radio])")].some((one) => one.value !== one.defaultValue)) tell();
}

// A form whose choices are counted at once: the page that answers has the part that is put in place of the one shown.
function counting() {
  const form = byId("coarsenings");
  if (!form) return;
  let asked = 0;
  const pause = (time) => new Promise((done) => window.setTimeout(done, time));
  const count = async () => {
    const mine = ++asked;
    byId("seen").classList.add("busy");
    const fields = new URLSearchParams(new FormData(form));
    fields.set("do", "preview");
    let answer = await fetch("/coarser", { method: "POST", body: fields });
    for (;;) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== asked) return;
      if (!page.getElementById("working")) {
        if (!page.getElementById("seen")) { form.submit(); return; }  // it says what is wrong
        for (const id of ["seen", "coarsenings", "some-rows"]) {
          const focused = document.activeElement && document.activeElement.id;
          byId(id).replaceWith(document.adoptNode(page.getElementById(id)));
          if (focused && byId(focused)) byId(focused).focus();
        }
        counting();
        return;
      }
      while ((await (await fetch("/work")).json()) !== null) await pause(200);
      answer = await fetch(answer.url);
    }
  };
  form.addEventListener("change", count);
}

function pointing() {
  for (const point of document.querySelectorAll("[data-choose]")) {
    const choose = () => byId(point.dataset.choose).requestSubmit();
    point.addEventListener("click", choose);
    point.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
    });
  }
}

function opening() {
  const place = byId("from-file");
  if (!place) return;
  place.hidden = false;
  byId("tree").addEventListener("change", async (event) => {
    if (!event.target.files.length) return;
    const answer = await fetch(`/shape/file?column=${place.dataset.column}`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: event.target.files[0],
    });
    const text = await answer.text();
    if (answer.ok) window.location.assign(text);
    else byId("file-said").textContent = text;
  });
}

// A click with the shift key chooses all columns from the last one that was clicked.
function ranging() {
  const form = byId("columns");
  if (!form) return;
  const boxes = [...form.querySelectorAll("[name^=check-]")];
  let last = null;
  form.addEventListener("click", (event) => {
    const at = boxes.indexOf(event.target);
    if (at < 0) return;
    if (event.shiftKey && last !== null) {
      for (const box of boxes.slice(Math.min(at, last), Math.max(at, last) + 1)) box.checked = event.target.checked;
    }
    last = at;
  });
}

// A page that follows work begins at the part that its address names: a reload stays where the page of the work stood.
function arriving() {
  if (byId("working") || window.history.scrollRestoration !== "manual") return;
  const part = byId(window.location.hash.slice(1));
  if (part) part.scrollIntoView();
  window.addEventListener("load", () => window.setTimeout(() => { window.history.scrollRestoration = "auto"; }));
}

arriving();
dropping();
ranging();
counting();
pointing();
opening();
working();
copying();
sliding();
choosing();

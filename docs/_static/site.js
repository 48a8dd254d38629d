// Copy buttons on examples, and a box that filters the list of theorems. Nothing is fetched.
"use strict";

function typed(block) {
  const copy = block.cloneNode(true);
  const session = copy.querySelector(".gp") !== null;
  copy.querySelectorAll(".gp, .linenos").forEach((part) => part.remove());
  if (session) copy.querySelectorAll(".go, .gt").forEach((part) => part.remove());
  return copy.textContent.split("\n").filter((line) => line.trim() !== "").join("\n") + "\n";
}

function addCopyButtons() {
  document.querySelectorAll("div.highlight").forEach((block) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(typed(block.querySelector("pre")));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.appendChild(button);
  });
}

function addFilter() {
  const section = document.getElementById("all-theorems");
  if (section === null) return;
  const rows = section.querySelectorAll("tbody tr");
  const box = document.createElement("input");
  box.type = "search";
  box.className = "filter";
  box.placeholder = "Words to find, such as: laplace width";
  box.setAttribute("aria-label", "Filter the theorems");
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    });
  });
  section.querySelector("h2").after(box);
}

document.addEventListener("DOMContentLoaded", () => { addCopyButtons(); addFilter(); });

"use strict";
// A click on a heading sorts the table by that column; the second click reverses the order, the third restores it.
for (const table of document.querySelectorAll("table.sort")) {
  const body = table.tBodies[0];
  const original = Array.from(body.rows);
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      const order = before === "ascending" ? "descending" : before === "descending" ? "none" : "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      if (order !== "none") heading.setAttribute("aria-sort", order);
      body.append(...(order === "none" ? original : sorted(original, place, order === "ascending" ? 1 : -1)));
    });
  });
}

// A link into a folded section unfolds it, in browsers that do not do so themselves; and all of it is printed.
function unfold() {
  for (let at = document.getElementById(location.hash.slice(1)); at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
}
addEventListener("hashchange", unfold);
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details.fold")) fold.open = true;
});
unfold();

// Cells without a value stay last in both orders.
function sorted(rows, place, direction) {
  const keyed = rows.map((row) => [value(row.cells[place]), row]);
  const known = keyed.filter(([key]) => key !== "–" && key !== "");
  known.sort(([one], [other]) => direction * compare(one, other));
  return known.concat(keyed.filter((pair) => !known.includes(pair))).map(([, row]) => row);
}

// The first text of a cell, without notes, marks and ranges.
function value(cell) {
  return cell.firstChild ? cell.firstChild.textContent.trim() : "";
}

function compare(one, other) {
  const [first, second] = [one, other].map((text) => Number.parseFloat(text.replaceAll(",", "").replace("−", "-")));
  if (Number.isNaN(first) || Number.isNaN(second)) return one.localeCompare(other);
  return first - second;
}

"use strict";
// Sorts a table by the column whose heading is pressed; again the other way round, and a third time as it was.
for (const table of document.querySelectorAll("table.sort")) {
  const body = table.tBodies[0];
  const given = Array.from(body.rows);
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
      body.append(...(order === "none" ? given : sorted(given, place, order === "ascending" ? 1 : -1)));
    });
  });
}

// Cells without a value stay last either way.
function sorted(rows, place, direction) {
  const keyed = rows.map((row) => [value(row.cells[place]), row]);
  const known = keyed.filter(([key]) => key !== "–" && key !== "");
  known.sort(([one], [other]) => direction * compare(one, other));
  return known.concat(keyed.filter((pair) => !known.includes(pair))).map(([, row]) => row);
}

// What a cell begins with; notes, marks and ranges come after it.
function value(cell) {
  return cell.firstChild ? cell.firstChild.textContent.trim() : "";
}

function compare(one, other) {
  const [first, second] = [one, other].map((text) => Number.parseFloat(text.replaceAll(",", "").replace("−", "-")));
  if (Number.isNaN(first) || Number.isNaN(second)) return one.localeCompare(other);
  return first - second;
}

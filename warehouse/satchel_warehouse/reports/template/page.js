// Tables that are sorted by their headings; without this script they stay as they are.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const order = new Intl.Collator(undefined, { numeric: true }).compare;
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    const isNumber = "number" in heading.dataset;
    button.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      const first = isNumber ? "descending" : "ascending";
      const next = { ascending: "descending", descending: "ascending" }[before] ?? first;
      const sign = next === "ascending" ? 1 : -1;
      const key = (row) => row.cells[column].dataset.sort;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === ""); // what is not known comes last
        return sign * (isNumber ? Number(x) - Number(y) : order(x, y));
      });
      body.append(...rows);
      headings.forEach((one) => one.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", next);
      document.getElementById("told").textContent =
        `${table.caption.textContent}: sorted by ${button.textContent}, ${next}`;
    });
  });
}

/** Files that the page makes: tables for spreadsheets, with times in a zone. */

export type Cell = string | number;

/** Writes rows as CSV (RFC 4180) for spreadsheets, which take no text for a formula. */
function csvOf(rows: readonly (readonly Cell[])[]): string {
  const cellOf = (cell: Cell): string => {
    if (typeof cell === "number") return String(cell);
    const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map(row => `${row.map(cellOf).join(",")}\r\n`).join("");
}

/** Lets the user keep rows as a table. */
export function saveTable(name: string, rows: readonly (readonly Cell[])[]): void {
  saveFile(`${name.replace(/[^\p{L}\p{N}_]+/gu, "-")}.csv`, csvOf(rows), "text/csv");
}

/** Lets the user keep a text as a file. */
export function saveFile(name: string, text: string, mediaType = "application/json"): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${mediaType};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Writes a time (Unix seconds) as ISO 8601 with the offset that a zone has then. */
export function isoIn(zone: string, at: number): string {
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    })
      .formatToParts(at * 1_000)
      .map(({ type, value }) => [type, value]),
  );
  const offset = parts.timeZoneName?.slice("GMT".length) || "+00:00";
  return `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}:${parts.second}${offset}`;
}

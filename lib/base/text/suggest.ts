const editsMax = 2;

/** Suggests the candidate closest to a misspelled word, as a sentence; empty if none is close. */
export function suggestion(word: string, candidates: readonly string[], prefix = ""): string {
  let best: string | null = null;
  let bestEdits = Math.min(editsMax, word.length - 1) + 1;
  for (const candidate of candidates) {
    const edits = editDistance(word, candidate);
    if (edits >= bestEdits) continue;
    best = candidate;
    bestEdits = edits;
  }
  return best === null ? "" : ` Did you mean ${prefix}${best}?`;
}

/** Counts the edits between two words, row by row; two neighbours that are swapped are one (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

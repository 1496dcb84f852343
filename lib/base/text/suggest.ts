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

/** Computes the Levenshtein distance, row by row (Wagner and Fischer, 1974). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Returns the id of a board as words: `event:round_1` is “Round 1”. */
export function wordsOfBoard(id: string): string {
  const words = id.replace(/^event:/, "").replace(/[_-]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

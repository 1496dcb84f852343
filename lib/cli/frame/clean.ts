/** Replaces control and direction characters, with which text of a server could control the terminal. */
export function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}

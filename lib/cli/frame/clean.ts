/** Writes JSON in which control and direction characters are escaped, so that it cannot control the terminal either. */
export function cleanJson(value: unknown, indent?: number): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, indent).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, one =>
    one.replace(/./gs, escaped),
  );
}

/**
 * Replaces control and direction characters, with which text of a server could control the terminal. The joiners of emoji and of
 * scripts such as Persian stay.
 */
export function clean(text: string): string {
  return text.replace(/(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}])+/gu, " ");
}

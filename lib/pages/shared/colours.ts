/** Contrast of colours, written as `#rrggbb` (WCAG 2.2, relative luminance). */

/** Least contrast of text and its ground. */
export const contrastMin = 4.5;

/** Returns the contrast of two colours, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
}

/** Returns black or white, whichever is read better on a ground. */
export function textOn(ground: string): "#000000" | "#ffffff" {
  return contrast(ground, "#000000") >= contrast(ground, "#ffffff") ? "#000000" : "#ffffff";
}

/** Returns the colour nearest to an ink, on the way to black or white, that is read on the ground. */
export function nearestReadable(ground: string, ink: string): string {
  const end = textOn(ground);
  for (let part = 1; part < 100; part++) {
    const mixed = mix(ink, end, part / 100);
    if (contrast(ground, mixed) >= contrastMin) return mixed;
  }
  return end;
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map(value => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix(from: string, to: string, part: number): string {
  const ends = channels(to);
  const mixed = channels(from).map((value, index) =>
    Math.round(value + ((ends[index] ?? 0) - value) * part)
      .toString(16)
      .padStart(2, "0"),
  );
  return `#${mixed.join("")}`;
}

function channels(colour: string): readonly number[] {
  return [1, 3, 5].map(start => Number.parseInt(colour.slice(start, start + 2), 16));
}

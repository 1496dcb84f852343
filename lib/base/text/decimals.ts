/** Most decimal digits of a result. */
const scaleMax = 1e9;
/** Numbers from here on keep 15 significant digits, which is what a double carries, and so fewer decimal ones. */
const fullScaleBelow = 1e6;

/** Adds two amounts as decimal numbers: rounded to 9 decimal digits, so that 0.1 and 0.2 are 0.3. */
export function addDecimals(a: number, b: number): number {
  const sum = a + b;
  if (Number.isInteger(sum)) return sum;
  // What a cancellation leaves is no more exact than the larger operand.
  return rounded(sum, Math.max(Math.abs(a), Math.abs(b)));
}

/** Adds amounts that are kept: a sum stays within the integers that doubles and JSON carry exactly. */
export function addBounded(a: number, b: number): number {
  const sum = addDecimals(a, b);
  return Math.min(Math.max(sum, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** Rounds a product or quotient to 9 decimal digits; halves away from zero. */
export function roundDecimal(value: number): number {
  return Number.isInteger(value) ? value : rounded(value, Math.abs(value));
}

/** The scripts of the Redis adapter round in the same steps. */
function rounded(value: number, magnitude: number): number {
  if (!Number.isFinite(value)) return value;
  let scale = scaleMax;
  for (let bound = fullScaleBelow; magnitude >= bound && scale > 1; bound *= 10) scale /= 10;
  const whole = Math.floor(Math.abs(value) * scale + 0.5) / scale;
  return value < 0 && whole > 0 ? -whole : whole;
}

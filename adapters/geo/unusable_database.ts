/** A file that cannot serve as a country database; the message says why. */
export class UnusableDatabaseError extends Error {
  override readonly name = "UnusableDatabaseError";
}

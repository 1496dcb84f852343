/**
 * Request ids: the caller's if it is valid, otherwise a new one.
 *
 * @module
 */

const saneShape = /^[A-Za-z0-9._-]{8,64}$/;

/** Returns true for 8 to 64 characters that need no escaping in a header or a log line. */
export function isSaneRequestId(id: string): boolean {
  return saneShape.test(id);
}

/** Creates a generator of ids that are unique among processes: 64 random bits for the process, then a counter. */
export function requestIds(): () => string {
  const prefix = [...crypto.getRandomValues(new Uint8Array(8))]
    .map(byte => byte.toString(16).padStart(2, "0"))
    .join("");
  let count = 0;
  return () => {
    count++;
    return `${prefix}-${count.toString(36)}`;
  };
}

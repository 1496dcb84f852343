/** Runs suites by hand, so that a test can see which of their cases fail. */
import type { Runner } from "../../../adapters/conformance/mod.ts";

/** The cases that a suite registers, by `subject › name`. */
export function collect(register: (runner: Runner) => void): ReadonlyMap<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>();
  let subject = "";
  register({
    describe(name, body) {
      subject = name;
      body();
    },
    it(name, body) {
      cases.set(`${subject} › ${name}`, body);
    },
  });
  return cases;
}

/** The error of a case by the beginning of its name, or null where it passes. */
export async function outcome(
  cases: ReadonlyMap<string, () => Promise<void>>,
  name: string,
): Promise<Error | null> {
  const found = [...cases].filter(([each]) => each.startsWith(name));
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new RangeError(`${found.length} cases begin with ${name}`);
  try {
    await only[1]();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

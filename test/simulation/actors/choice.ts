import type { Random } from "../../../adapters/conformance/random.ts";

/** Does one of several things, by their weights. */
export async function pick(
  random: Random,
  choices: readonly (readonly [weight: number, act: () => Promise<void>])[],
): Promise<void> {
  let rest = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, act] of choices) {
    rest -= weight;
    if (rest < 0) return await act();
  }
}

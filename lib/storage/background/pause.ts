/** Long work in slices, so that requests are answered meanwhile. */

/** Longest time that work holds the event loop, in ms. */
const sliceMsMax = 5;

/**
 * Creates the pauses of one piece of work: each yields to other work once the current slice is long enough. `nextTurn` resolves
 * after other work that is ready has run.
 */
export function createPause(nextTurn: () => Promise<void> = loopTurn): () => Promise<void> | undefined {
  let began = performance.now();
  let turn: Promise<void> | undefined;
  return () => {
    // Tasks that share the pauses go on in one turn, whose slice they share.
    if (turn !== undefined || performance.now() - began < sliceMsMax) return turn;
    turn = nextTurn().then(() => {
      began = performance.now();
      turn = undefined;
    });
    return turn;
  };
}

/** Present in Node, Bun and Deno. */
const { setImmediate: immediate } = globalThis as { readonly setImmediate?: (run: () => void) => unknown };

/** Timers that are due run before everything else, so that several tasks that pause by timers would keep all others out. */
function loopTurn(): Promise<void> {
  return new Promise(resolve => {
    if (immediate === undefined) setTimeout(resolve, 0);
    else immediate(resolve);
  });
}

import type { RandomBytes } from "../auth/mod.ts";
import type { Fetch } from "../auth/remote_issuers/mod.ts";
import type { Logger, Timer } from "../http/mod.ts";
import type { Store } from "../storage/mod.ts";

export interface WorkflowPorts {
  readonly name: string;
  readonly store: Store;
  /** @default fetch */
  readonly fetch: Fetch;
  /** Unix ms. @default systemClock */
  readonly clock: () => number;
  /** @default systemRandom */
  readonly random: RandomBytes;
  /** @default systemTimer */
  readonly timer: Timer;
  /** @default consoleLogger */
  readonly logger: Logger;
  /** Keeps the process alive while a task runs, where a host demands it. @default not needed */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

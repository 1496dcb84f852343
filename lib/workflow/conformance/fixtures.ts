import type { DialogueContext } from "../dialogue/mod.ts";

/** Somebody who runs a dialogue: a token, and the ids of the context. */
export interface DialogueCaller {
  readonly token: string;
  readonly context: Omit<DialogueContext, "baseURL">;
}

/** The people, places and servers with which a backend is checked. A check that lacks its fixture is skipped. */
export interface BackendFixtures {
  /** Address of the control API that the backend is configured with. */
  readonly control: string;
  /** A person with the role that the backend requires. */
  readonly user: DialogueCaller;
  /** The same person with that role in another organisation, by a token that works in both. */
  readonly elsewhere?: DialogueCaller;
  /** Token of another person with that role in the context of `user`. */
  readonly colleague?: string;
  /** Ids of an organisation in which `user` has no role. */
  readonly foreign?: DialogueCaller["context"];
  readonly expiredToken?: string;
  /** A server that must never be asked; `requests` counts what it was asked. */
  readonly listener?: { readonly url: string; readonly requests: () => number };
  /** Values of inputs by name. @default a short text, a small file, an image of one pixel, a colour */
  readonly inputs?: Readonly<Record<string, string>>;
  /** The action of the first view to press. @default the first one */
  readonly action?: string;
  /** Returns the number of effects of the backend so far, by which doubled ones are found. */
  readonly effects?: () => number | Promise<number>;
}

/** The backend under check, its fixtures and the surroundings. */
export interface CheckBackendOptions extends BackendFixtures {
  /** Address of the backend. */
  readonly url: string;
  /** @default fetch */
  readonly send?: (request: Request) => Promise<Response>;
  /** Ids of the checks to run. @default all */
  readonly only?: readonly string[];
  /** Called before each check. */
  readonly onCheck?: (id: string) => void;
  /** Unix ms. @default systemClock */
  readonly clock?: () => number;
  /** Resolves after a time in ms. @default by setTimeout */
  readonly pause?: (ms: number) => Promise<void>;
  /** Returns a signal that aborts after a time in ms. @default AbortSignal.timeout */
  readonly timeLimit?: (ms: number) => AbortSignal;
}

/** Talks to a backend as a frontend does, and keeps every answer. */

import { systemClock, systemRandom, uuid } from "../../auth/crypto/mod.ts";
import { systemTimer } from "../../storage/background/mod.ts";
import { type DialogueContext, dialogueLimits, type WorkflowResponse } from "../dialogue/mod.ts";
import { type Answer, readAnswer } from "./answer.ts";

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

const { answerMsMax } = dialogueLimits;
/** Most turns that a dialogue takes by itself before it is left. */
const turnsMax = 12;
const pollMsMax = 2_000;

interface Turn {
  /** Text is sent as it is. @default the context alone */
  readonly body?: unknown;
  readonly by?: DialogueCaller;
  /** Null: none. @default the token of `by` */
  readonly authorization?: string | null;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Press extends Turn {
  /** @default the first one */
  readonly action?: string | undefined;
  readonly inputs?: Readonly<Record<string, string>>;
  /** Null: none. @default that of the view */
  readonly payload?: Readonly<Record<string, unknown>> | null;
}

/** Values of inputs that have none of their own; files are Base64. */
const samples = {
  text: "Conformance",
  file: "bmFtZQpDb25mb3JtYW5jZQo=",
  image: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  colour: "#336699",
} as const;

export class Probe {
  readonly options: CheckBackendOptions;
  readonly answers: Answer[] = [];
  /** The answers to polls of tasks that were followed to their ends. */
  readonly polled: Answer[] = [];

  constructor(options: CheckBackendOptions) {
    this.options = options;
  }

  /** Sends a request. It never rejects. */
  async ask({ by = this.options.user, method = "POST", headers = {}, ...turn }: Turn = {}): Promise<Answer> {
    const {
      url,
      send = fetch,
      clock = systemClock,
      timeLimit = AbortSignal.timeout.bind(AbortSignal),
    } = this.options;
    const { authorization = `Bearer ${by.token}`, body = { context: this.context(by.context) } } = turn;
    const startedAt = clock();
    const signal = timeLimit(answerMsMax);
    const tooLate = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("it took longer than 30 s")), { once: true });
    });
    const request = new Request(url, {
      method,
      signal,
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        ...(authorization === null ? {} : { authorization }),
        ...headers,
      },
      ...(method === "GET" ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const answered = send(request).then(async response => ({ response, text: await response.text() }));
    const answer = await Promise.race([answered, tooLate]).then(
      ({ response, text }) => readAnswer(response, text, clock() - startedAt),
      (error: unknown) => {
        const { cause = error } = error instanceof Error ? error : {};
        const faults = [cause instanceof Error ? cause.message : String(cause)];
        const ms = Math.max(clock() - startedAt, signal.aborted ? answerMsMax + 1 : 0);
        return { status: 0, headers: new Headers(), view: null, faults, ms };
      },
    );
    this.answers.push(answer);
    return answer;
  }

  context(ids: DialogueCaller["context"] = this.options.user.context) {
    return { baseURL: this.options.control, ...ids };
  }

  /** Opens a dialogue, up to the first view that waits for the person. */
  async open(): Promise<Answer> {
    return await this.#follow(await this.ask(), false);
  }

  /** Opens a dialogue and returns its first view. @throws {Error} There is none. */
  async view(): Promise<WorkflowResponse> {
    const { view } = await this.open();
    if (view === null) throw new Error("The backend showed a first view before, and now none");
    return view;
  }

  actionOf({ actions = [] }: WorkflowResponse): string | undefined {
    const named = actions.find(({ action_id }) => action_id === this.options.action);
    return (named ?? actions[0])?.action_id;
  }

  async press(
    view: WorkflowResponse,
    { action, inputs, payload = view.payload ?? null, ...turn }: Press = {},
  ) {
    const filled = view.blocks.flatMap(block =>
      block.type === "input"
        ? [[block.name, this.options.inputs?.[block.name] ?? samples[block.input_type]] as const]
        : [],
    );
    const body = {
      context: this.context(turn.by?.context),
      action: action ?? this.actionOf(view),
      inputs: { ...Object.fromEntries(filled), ...inputs },
      payload: payload ?? undefined,
      taskId: view.task?.state === "running" ? view.task.id : undefined,
    };
    return await this.ask({ ...turn, body });
  }

  async poll({ task, payload }: WorkflowResponse, turn: Turn = {}): Promise<Answer> {
    const context = this.context(turn.by?.context);
    return await this.ask({ ...turn, body: { context, taskId: task?.id, payload } });
  }

  /** Goes on until no task runs, for some turns. */
  async settle(answer: Answer): Promise<Answer> {
    return await this.#follow(answer, true);
  }

  /** Returns the number of effects, after the tasks of some answers; 0 where effects are not counted. */
  async effects(...answers: readonly Answer[]): Promise<number> {
    if (this.options.effects === undefined) return 0;
    for (const answer of answers) await this.settle(answer);
    return await this.options.effects();
  }

  key(): Readonly<Record<string, string>> {
    return { "idempotency-key": uuid(systemRandom) };
  }

  async #follow(answer: Answer, polls: boolean): Promise<Answer> {
    const { pause = waitFor } = this.options;
    let last = answer;
    for (let turn = 0; turn < turnsMax && last.view !== null; turn++) {
      const { autoAction, task } = last.view;
      if (autoAction !== undefined) {
        last = await this.press(last.view, { action: autoAction.action_id });
      } else if (polls && task?.state === "running") {
        await pause(Math.min(task.pollIntervalMs ?? pollMsMax, pollMsMax));
        last = await this.poll(last.view);
        this.polled.push(last);
      } else break;
    }
    return last;
  }
}

function waitFor(ms: number): Promise<void> {
  return new Promise(resolve => void systemTimer(resolve, ms));
}

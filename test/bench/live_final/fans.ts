/** The fans of the show, and the back end that decides their predictions. */

import type { Demo } from "../../../lib/mod.ts";
import type { Answered, Balancer, Call } from "./client.ts";
import { type Plan, steps } from "./plan.ts";

/** Largest batch that a back end sends. */
const batchMax = 1_000;
/** Points by the rules of the demo: for a share, for outcomes, for the first exact one, and for three predictions in a day. */
const points = { share: 1, right: 1, exact: 3, firstExact: 10, threePredictions: 5, reward: 100 } as const;
/** Fans whom the back end rewards in turn. */
const leaders = 20;

/** A fan as the clients know them. */
export interface Fan {
  userId: string;
  token: string;
  /** When the account was there, by `performance.now()`. */
  readyAt: number;
  /** Shares and predictions that were acknowledged. */
  shares: number;
  predicted: number;
  /** Outcomes that were accepted. */
  right: number;
  exact: number;
  /** Points of acknowledged rewards. */
  rewarded: number;
  /** Steps that wait for the account. */
  waiting: ((fan: Fan) => void)[] | null;
}

/** The outcome of a prediction, the same whenever it is asked for. */
export function outcomeOf(fan: number, match: number): "exact" | "right" | "wrong" {
  const roll = (fan * 31 + match * 17) % 10;
  return roll < 2 ? "exact" : roll < 5 ? "right" : "wrong";
}

/** Returns the points that a fan must have. */
export function expectedPoints({ shares, predicted, right, exact, rewarded }: Fan): number {
  const first = exact > 0 ? points.firstExact : 0;
  const three = predicted >= 3 ? points.threePredictions : 0;
  return shares * points.share + right * points.right + exact * points.exact + first + three + rewarded;
}

/** Plays the fans of a plan against the servers. */
export class Crowd {
  readonly fans: (Fan | undefined)[];
  /** Acknowledged predictions whose outcome no back end has sent. */
  readonly #undecided: { readonly fan: number; readonly match: number }[] = [];
  readonly #plan: Plan;
  readonly #demo: Demo;
  readonly #balancer: Balancer;
  /** Calls under way. */
  readonly underWay = new Set<Promise<void>>();
  readonly failures: string[] = [];
  batches = 0;
  #next = 0;

  constructor(plan: Plan, demo: Demo, balancer: Balancer) {
    this.#plan = plan;
    this.#demo = demo;
    this.#balancer = balancer;
    this.fans = new Array<Fan | undefined>(plan.fans);
  }

  /** Begins every step that is due. Returns false behind the last one. */
  advance(startedAt: number): boolean {
    const { at, fan, step, match } = this.#plan;
    const elapsed = performance.now() - startedAt;
    while (this.#next < at.length && (at[this.#next] ?? 0) <= elapsed) {
      const index = this.#next++;
      const intendedAt = startedAt + (at[index] ?? 0);
      this.#begin(fan[index] ?? 0, steps[step[index] ?? 0] ?? "board", match[index] ?? 0, intendedAt);
    }
    return this.#next < at.length;
  }

  /** Sends the outcomes of up to 1,000 predictions. Returns the number of them. */
  async decide(intendedAt: number): Promise<number> {
    const decided = this.#undecided.splice(0, batchMax);
    if (decided.length === 0) return 0;
    const { eventId, apiKey, organisationId } = this.#demo;
    const actions = decided.map(({ fan, match }) => ({
      userId: this.fans[fan]?.userId,
      action: "outcome",
      actionId: `o-${match}`,
      data: { eventId, matchId: `m${match}`, outcome: outcomeOf(fan, match) },
    }));
    const answer = await this.#balancer.call({
      ...{ route: "POST bulk actions", method: "POST", path: "/v1/api/audience/internal/actions/bulk" },
      headers: keyHeaders(apiKey, organisationId),
      body: { actions },
      intendedAt,
    });
    if (answer.status !== 202) throw new Error(`A batch was refused: ${answer.status} ${answer.text}`);
    this.batches += 1;
    for (const { fan: index, match } of decided) {
      const fan = this.fans[index];
      const outcome = outcomeOf(index, match);
      if (fan !== undefined && outcome !== "wrong") fan[outcome] += 1;
    }
    return decided.length;
  }

  /** Rewards one of the first fans, so that the leaders of the board change. Does nothing while none is there. */
  async reward(turn: number): Promise<void> {
    const fan = this.fans[turn % leaders];
    if (fan === undefined || fan.waiting !== null) return;
    const amount = points.reward + turn;
    const answer = await this.#balancer.call({
      ...{ route: "POST rewards", method: "POST", path: "/v1/api/audience/internal/rewards/bulk" },
      headers: keyHeaders(this.#demo.apiKey, this.#demo.organisationId),
      body: {
        rewards: [{ userId: fan.userId, rewardId: `r-${turn}`, type: "metric", currency: "points", amount }],
      },
      intendedAt: performance.now(),
    });
    if (answer.status !== 200) throw new Error(`A reward was refused: ${answer.status} ${answer.text}`);
    fan.rewarded += amount;
  }

  get undecided(): number {
    return this.#undecided.length;
  }

  #begin(index: number, step: (typeof steps)[number], match: number, intendedAt: number): void {
    const fan = this.fans[index];
    if (step === "arrive") this.#track(this.#arrive(index, intendedAt));
    else if (fan?.waiting === null) this.#track(this.#step(fan, index, step, match, intendedAt));
    else {
      // A fan whose account takes long acts as soon as it is there.
      fan?.waiting?.push(ready => {
        this.#track(this.#step(ready, index, step, match, Math.max(intendedAt, ready.readyAt)));
      });
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => void this.failures.push(String(error)))
      .finally(() => this.underWay.delete(tracked));
    this.underWay.add(tracked);
  }

  async #arrive(index: number, intendedAt: number): Promise<void> {
    const fan: Fan = {
      ...{
        userId: "",
        token: "",
        readyAt: 0,
        shares: 0,
        predicted: 0,
        right: 0,
        exact: 0,
        rewarded: 0,
        waiting: [],
      },
    };
    this.fans[index] = fan;
    const { projectId } = this.#demo;
    const selector = { projectId, strategy: "simplified", provider: "noLogin" };
    const created = await this.#send(index, {
      ...{ route: "POST user", method: "POST", path: "/v1/user", intendedAt },
      body: { ...selector, data: { username: `Fan ${index}` } },
    });
    const record = JSON.parse(created.text).data;
    const issued = await this.#send(index, {
      ...{ route: "POST token", method: "POST", path: "/api/auth/token", intendedAt: performance.now() },
      body: { type: "sessionRecord", projectId, record },
    });
    fan.userId = record.userId;
    fan.token = JSON.parse(issued.text).data.accessToken;
    fan.readyAt = performance.now();
    const waiting = fan.waiting ?? [];
    fan.waiting = null;
    for (const act of waiting) act(fan);
  }

  async #step(
    fan: Fan,
    index: number,
    step: (typeof steps)[number],
    match: number,
    intendedAt: number,
  ): Promise<void> {
    const { projectId, eventId } = this.#demo;
    if (step === "predict") {
      const data = { eventId, matchId: `m${match}`, home: index % 4, away: match % 3 };
      await this.#act(fan, index, { action: "prediction", actionId: `p-${match}`, data }, intendedAt);
      fan.predicted += 1;
      this.#undecided.push({ fan: index, match });
    } else if (step === "share") {
      fan.shares += 1;
      await this.#act(fan, index, { action: "share", actionId: `s-${fan.shares}` }, intendedAt);
    } else if (step === "board") {
      const around = index % 2 === 0 ? "?limit=10" : `/users/${fan.userId}`;
      const path = `/projects/${projectId}/leaderboards/overall${around}`;
      const route = index % 2 === 0 ? "GET board" : "GET rank";
      await this.#send(index, { route, method: "GET", path, intendedAt });
    } else {
      const path = `/api/loyalty/${step}`;
      await this.#send(index, { route: `GET ${step}`, method: "GET", path, intendedAt }, fan.token);
    }
  }

  async #act(fan: Fan, index: number, body: object, intendedAt: number): Promise<void> {
    const call = { route: "POST action", method: "POST", path: "/api/loyalty/action", body, intendedAt };
    await this.#send(index, call, fan.token);
  }

  /** Every fan has an address of their own behind the balancer. @throws {Error} The call was refused. */
  async #send(index: number, call: Call, token?: string): Promise<Answered> {
    const address = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
    const headers = {
      "x-forwarded-for": address,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const answer = await this.#balancer.call({ ...call, headers });
    // Who has no points yet is on no board.
    const isExpected = answer.status < 300 || (call.route === "GET rank" && answer.status === 404);
    if (isExpected) return answer;
    throw new Error(`${call.route}: ${answer.status} ${answer.text.slice(0, 200)}`);
  }
}

/** Header fields of a back end. */
export function keyHeaders(apiKey: Demo["apiKey"], organisationId: string): Record<string, string> {
  return {
    "x-api-key": apiKey?.key ?? "",
    "x-api-secret": apiKey?.secret ?? "",
    "x-platform-org-id": organisationId,
  };
}

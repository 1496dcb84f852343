/**
 * The expected result of a season of rewards, by plain counting over the actions of fans: nothing of the platform is used
 * here, and dates come from Temporal.
 */

import { Temporal } from "temporal-polyfill";
import type { FanAction } from "./rewards_actions.ts";
import { coinsLast, leagueZone, monthly, rewardOf, rungs } from "./rewards_league.ts";

type Changes = Record<string, { oldValue: number; newValue: number }>;

/** A transaction as a history must show it; `at` in Unix ms. */
export interface ExpectedTransaction {
  readonly type: string;
  readonly at: number;
  readonly about: Readonly<Record<string, string>>;
  readonly metricChanges: Changes;
  readonly received: readonly object[];
  readonly milestoneChanges: Readonly<Record<string, { oldValue: string; newValue: string }>>;
}

/** A change of a metric. */
export interface Moved {
  readonly metric: string;
  readonly by: number;
  readonly at: number;
  /** The event that the action behind it named; null: none. */
  readonly event: string | null;
}

/** The result of a fan's season. */
export interface FanEnd {
  readonly profile: object;
  readonly history: readonly ExpectedTransaction[];
  readonly moved: readonly Moved[];
  readonly exacts: readonly FanAction[];
  readonly coupons: number;
}

/** A moment on the clocks of the league. */
export function local(at: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(leagueZone);
}

/** The name of the day, as `2024-08-17`. */
const dayOf: (at: number) => string = remembering(at => local(at).toPlainDate().toString());

/** The name of the month, as `2024-08`. */
export const monthOf: (at: number) => string = remembering(at => dayOf(at).slice(0, "2024-08".length));

/** The name of the ISO week, as `2024-W33`. */
export const weekOf: (at: number) => string = remembering(at => {
  const { yearOfWeek, weekOfYear } = local(at);
  return `${yearOfWeek}-W${String(weekOfYear).padStart(2, "0")}`;
});

/** Temporal takes tens of microseconds, and the same moments are asked about again and again. */
function remembering(nameOf: (at: number) => string): (at: number) => string {
  const names = new Map<number, string>();
  return at => {
    const name = names.get(at) ?? nameOf(at);
    names.set(at, name);
    return name;
  };
}

/** The arrivals that were among the first of their day, in the order in which all fans came. */
export function earlyArrivals(arrivals: readonly FanAction[]): ReadonlySet<FanAction> {
  const byDay = new Map<string, FanAction[]>();
  for (const fanAction of arrivals) {
    const early = byDay.get(dayOf(fanAction.at)) ?? [];
    byDay.set(dayOf(fanAction.at), early);
    const isFirst = early.every(({ fan }) => fan !== fanAction.fan);
    if (isFirst && early.length < rewardOf.earlyMax) early.push(fanAction);
  }
  return new Set([...byDay.values()].flat());
}

/** Returns the result of a fan after these actions in this order, as of a time. */
export function endOf(actions: readonly FanAction[], early: ReadonlySet<FanAction>, until: number): FanEnd {
  const fan = new FanStory();
  for (const fanAction of actions) {
    fan.letPass(fanAction.at);
    if (fanAction.action === "arrival" && early.has(fanAction))
      fan.addTransaction("actionRewarded", { early: 1 });
    if (fanAction.action === "purchase") fan.addTransaction("actionRewarded", { coins: -rewardOf.coinPrice });
    if (fanAction.action === "prediction") fan.predict(fanAction);
  }
  fan.letPass(until);
  return fan.end();
}

class FanStory {
  readonly #history: ExpectedTransaction[] = [];
  readonly #moved: Moved[] = [];
  readonly #predictions: FanAction[] = [];
  #coins: { left: number; readonly until: number }[] = [];
  /** The month whose challenge was begun, and how it stands. */
  #month: { readonly name: string; readonly ends: number; count: number; status: string } | null = null;
  #rung = -1;
  #badges: string[] = [];
  #coupons = 0;
  #at = 0;
  #event: string | null = null;

  end(): FanEnd {
    const isCompleted = this.#month?.status === "completed";
    const missionsCompleted = isCompleted ? [monthly.mission] : [];
    const metrics = Object.fromEntries(
      ["points", "coins", "visits", "early"].map(metric => [metric, this.#value(metric)]),
    );
    return {
      profile: {
        metrics,
        inventory: { badges: this.#badges },
        challenges: { [monthly.challenge]: { isCompleted, missionsCompleted } },
      },
      history: this.#history,
      moved: this.#moved,
      exacts: this.#predictions.filter(({ data }) => data.outcome === "exact"),
      coupons: this.#coupons,
    };
  }

  /** Coins lapse, and months end. */
  letPass(until: number): void {
    this.#event = null;
    for (;;) {
      const next = Math.min(this.#month?.ends ?? Infinity, ...this.#coins.map(lot => lot.until));
      if (next > until) break;
      this.#at = next;
      const lapsed = this.#coins.filter(lot => lot.until <= next);
      this.#coins = this.#coins.filter(lot => lot.until > next);
      const amount = lapsed.reduce((sum, { left }) => sum + left, 0);
      if (lapsed.length > 0) {
        const metricChanges = this.#move("coins", -amount);
        this.#record("pointsExpired", { metricChanges });
      }
      if ((this.#month?.ends ?? Infinity) > next) continue;
      if (this.#month?.status === "in_progress")
        this.#record("challengeFailed", { about: { challengeId: monthly.challenge } });
      this.#month = null;
    }
    this.#at = until;
  }

  addTransaction(
    type: string,
    changes: Readonly<Record<string, number>>,
    more: Partial<ExpectedTransaction> = {},
  ): void {
    const metricChanges: Changes = {};
    for (const [metric, by] of Object.entries(changes))
      Object.assign(metricChanges, this.#change(metric, by));
    this.#record(type, { ...more, metricChanges });
  }

  predict(fanAction: FanAction): void {
    const { outcome, eventId = null } = fanAction.data;
    this.#event = eventId;
    const week = weekOf(fanAction.at);
    const earlier = this.#predictions.filter(({ at }) => weekOf(at) === week).length;
    this.#predictions.push(fanAction);
    if (outcome === "exact") this.addTransaction("actionRewarded", { points: rewardOf.exact });
    if (outcome === "exact") this.addTransaction("actionRewarded", { coins: rewardOf.coinsForExact });
    if (outcome === "right") this.addTransaction("actionRewarded", { points: rewardOf.right });
    if (earlier === 0 && this.#weeksInARow() >= rewardOf.streakWeeks)
      this.addTransaction("actionRewarded", { points: rewardOf.streak });
    if (earlier < rewardOf.weeklyMax) this.addTransaction("actionRewarded", { visits: 1 });
    const isChampion = outcome === "exact" && this.#countForMonth();
    if (isChampion) this.addTransaction("actionRewarded", { coins: rewardOf.coinsOfMonth });
    this.#climb();
  }

  /** Weeks with a prediction up to the one of now, without a gap. */
  #weeksInARow(): number {
    const weeks = new Set(this.#predictions.map(({ at }) => weekOf(at)));
    let length = 0;
    let day = local(this.#at);
    while (weeks.has(weekOf(day.epochMilliseconds))) {
      length += 1;
      day = day.subtract({ weeks: 1 });
    }
    return length;
  }

  /** Returns true if this exact score completed the month's challenge. */
  #countForMonth(): boolean {
    const name = monthOf(this.#at);
    const first = local(this.#at).toPlainDate().with({ day: 1 });
    const ends = first.add({ months: 1 }).toZonedDateTime({ timeZone: leagueZone }).epochMilliseconds;
    this.#month ??= { name, ends, count: 0, status: "in_progress" };
    if (this.#month.status !== "in_progress") return false;
    this.#month.count += 1;
    if (this.#month.count < rewardOf.exactsOfMonth) return false;
    this.#month.status = "completed";
    const { challenge: challengeId, mission: missionId } = monthly;
    this.addTransaction("missionCompleted", {}, { about: { challengeId, missionId } });
    this.addTransaction("challengeCompleted", { points: rewardOf.monthly }, { about: { challengeId } });
    return true;
  }

  /** Rungs give points, which may reach further rungs. */
  #climb(): void {
    for (;;) {
      const points = this.#value("points");
      const reached = rungs.filter(({ threshold }, index) => index > this.#rung && threshold <= points);
      if (reached.length === 0) return;
      for (const rung of reached) {
        const [oldValue, newValue] = [rungs[this.#rung]?.id ?? "", rung.id];
        this.#rung += 1;
        if (rung.badge !== null) this.#badges = [...this.#badges, rung.badge];
        const received = rung.badge === null ? [] : [{ setId: "badges", itemId: rung.badge }];
        const gifts = { points: rung.points, coins: rung.coins };
        this.addTransaction("milestoneReached", gifts, {
          received,
          milestoneChanges: { ladder: { oldValue, newValue } },
        });
        if (!rung.isCoupon) continue;
        this.#coupons += 1;
        this.#record("couponReceived", { about: { couponId: "jersey" } });
      }
    }
  }

  #value(metric: string): number {
    return this.#moved.reduce((sum, moved) => (moved.metric === metric ? sum + moved.by : sum), 0);
  }

  /** Changes a metric by so much, or as far as it goes. */
  #change(metric: string, wanted: number): Changes {
    const by = Math.max(wanted, -this.#value(metric));
    if (metric === "coins" && by > 0) {
      this.#coins.push({ left: by, until: local(this.#at).add(coinsLast).epochMilliseconds });
    }
    let owed = metric === "coins" ? -Math.min(by, 0) : 0;
    for (const lot of this.#coins.sort((a, b) => a.until - b.until)) {
      const drawn = Math.min(owed, lot.left);
      lot.left -= drawn;
      owed -= drawn;
    }
    this.#coins = this.#coins.filter(({ left }) => left > 0);
    return this.#move(metric, by);
  }

  #move(metric: string, by: number): Changes {
    if (by === 0) return {};
    const oldValue = this.#value(metric);
    this.#moved.push({ metric, by, at: this.#at, event: this.#event });
    return { [metric]: { oldValue, newValue: oldValue + by } };
  }

  #record(type: string, more: Partial<ExpectedTransaction>): void {
    const nothing = { about: {}, metricChanges: {}, received: [], milestoneChanges: {} };
    this.#history.push({ type, at: this.#at, ...nothing, ...more });
  }
}

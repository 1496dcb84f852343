/** A model of events that goes through their states step by step. */

/** State of an event. */
export type State = "future" | "current" | "on_demand" | "past";
const order: readonly State[] = ["future", "current", "on_demand", "past"];

/** What authors decide of an event. */
export interface Plan {
  start_mode: "manual" | "clock";
  start_at: number;
  duration: number;
  end_mode: "duration" | "scheduled";
  end_at: number | null;
  on_demand_duration: number;
  extra_time_duration: number;
}

/** An event that somebody watches: it changes its state when a time is reached or somebody acts. */
export class ModelEvent {
  plan: Plan;
  state: State = "future";
  begin: number | null = null;
  stopped: number | null = null;
  closed = false;

  constructor(plan: Plan, now: number) {
    this.plan = plan;
    this.pass(now);
  }

  get actions(): readonly string[] {
    if (this.state === "future") return this.plan.start_mode === "clock" ? [] : ["start"];
    return this.state === "past" ? [] : ["stop"];
  }

  get end(): number {
    const { end_mode: mode, end_at: at, duration, extra_time_duration: extra } = this.plan;
    const begin = this.begin ?? 0;
    const isScheduled = mode === "scheduled" && at !== null;
    const planned = isScheduled
      ? Math.max(begin, at)
      : duration === 0
        ? Number.POSITIVE_INFINITY
        : begin + duration;
    return Math.min(planned + extra, this.stopped ?? Number.POSITIVE_INFINITY);
  }

  pass(now: number): void {
    if (this.state === "future" && this.plan.start_mode === "clock" && now >= this.plan.start_at) {
      this.begin = this.plan.start_at;
      this.state = "current";
    }
    if (this.state === "on_demand" && now < this.end) this.state = "current";
    if (this.state === "current" && now >= this.end) this.state = "on_demand";
    const isClosed = this.closed || now >= this.end + this.plan.on_demand_duration;
    if (this.state === "on_demand" && isClosed) this.state = "past";
  }

  /** Returns the status of the answer. */
  act(action: string, now: number): number {
    if (!this.actions.includes(action)) return 422;
    if (action === "stop" && this.state === "on_demand") this.closed = true;
    else if (action === "stop") this.stopped = now;
    else {
      const after = this.with({});
      after.begin = now;
      after.state = "current";
      after.pass(now);
      if (after.state !== "current") return 422;
      [this.begin, this.state] = [now, "current"];
    }
    this.pass(now);
    return 204;
  }

  change(change: Partial<Plan>, now: number): number {
    const { start_mode: mode, end_mode: end, end_at: at, start_at: start } = { ...this.plan, ...change };
    if (mode === "clock" && end === "scheduled" && at !== null && at <= start) return 422;
    const after = this.with(change);
    after.state = after.begin === null ? "future" : "current";
    if (mode === "clock") [after.state, after.begin] = ["future", null];
    after.pass(now);
    const isBack = order.indexOf(after.state) < order.indexOf(this.state);
    if (isBack && !(this.state === "on_demand" && after.state === "current")) return 409;
    [this.plan, this.state, this.begin] = [after.plan, after.state, after.begin];
    return 204;
  }

  with(change: Partial<Plan>): ModelEvent {
    const other = new ModelEvent({ ...this.plan, ...change }, Number.NEGATIVE_INFINITY);
    return Object.assign(other, { begin: this.begin, stopped: this.stopped, closed: this.closed });
  }
}

/** The state of the page: feeds in one signal per element, the connection, and the fan. */

import { batch, type Signal, signal } from "@preact/signals";
import {
  audience,
  createFanClient,
  type FanClient,
  type FanUser,
  feeds,
  GrandstandError,
  identity,
  type Leaderboard,
  type LeaderboardEntry,
  type LiveEvent,
  type LiveLoss,
  leaderboards,
  location as locationArea,
  loyalty,
} from "../../../client/mod.ts";
import type { ListedEvent, PageData } from "../page_data.ts";
import { fieldOf, savesData, textOf, titleOf } from "./content.tsx";
import { ShowTime } from "./show_time.ts";
import { t } from "./texts.ts";
import { type CountedVote, Votes } from "./votes.ts";

export type Item = LiveEvent["history"]["timeline"][number];
export type Stat = LiveEvent["livestats"]["elements"][number];

const areas = { audience, feeds, identity, leaderboards, location: locationArea, loyalty };

/** Age from which the page says how old it is, in ms. */
const oldMs = 10_000;
/** Time between two looks for notifications, in ms. */
const noticesMs = 30_000;
/** Time in which fans arrive, so that they do not sign up in the same second, in ms. */
const arrivalMs = 60_000;
/** Time in which answers that were right are paid, in ms. */
const settledMs = 2_000;
/** Time after which a refused stream or feed is asked for again, in ms. */
export const againMs = 5_000;
/** Time in which what cheers win is read once, in ms. */
const cheersMs = 5_000;

export interface Notice {
  readonly id: string;
  readonly title: string;
  readonly message: string;
  readonly isModal: boolean;
  /** True if it tells of something that the fan can use in the shop. */
  readonly isReward: boolean;
}

type Heard = Pick<LiveEvent, "history" | "projectLeaderboards"> & {
  readonly leaderboards?: LiveEvent["leaderboards"];
  readonly livestats: Pick<LiveEvent["livestats"], "state" | "elements">;
};

export type Refusal =
  | { readonly kind: "moved" }
  | { readonly kind: "place"; readonly country: string | null };

/** A lost connection. Times are of `performance.now()`. */
export interface Lost {
  /** When what is shown was heard. */
  readonly since: number;
  readonly retryAt: number;
  /** True if the server refused for now. */
  readonly isBusy: boolean;
}

/** A mailed code to sign in with; empty until it is typed. */
export interface MailedCode {
  readonly email: string;
  readonly code: string;
}

/** Prefix of the boards of the event, beside those of its project. */
const eventBoard = "event:";
/** Most boards of the event that the stream has. */
const eventBoardsMax = 10;

interface ShowOptions {
  readonly mailed?: Signal<MailedCode | null>;
  readonly isPreview?: boolean;
  readonly only?: string | null;
}

export class Show {
  readonly data: PageData;
  /** True in the studio, which says what is shown. */
  readonly isPreview: boolean;
  /** Id of the one element that is shown; null: all. */
  readonly only: string | null;
  /** The platform's version, which a newer page has. */
  readonly version: Signal<string>;
  /** The code that the fan is asked for. */
  readonly mailed: Signal<MailedCode | null>;
  readonly time = new ShowTime();
  readonly client: FanClient<typeof areas>;
  readonly votes: Votes;
  /** Ids of the published elements, oldest first. */
  readonly ids = signal<readonly string[]>([]);
  readonly items = new Map<string, Signal<Item>>();
  readonly stats = new Map<string, Signal<Stat | undefined>>();
  /** Null: fans may not read it now; undefined: it has not been read. */
  readonly boards = new Map<string, Signal<Leaderboard | null | undefined>>();
  readonly isLoaded = signal(false);
  readonly eventState = signal<string | null>(null);
  /** Null while the connection holds. */
  readonly lost = signal<Lost | null>(null);
  /** Ids of the boards of the event that elements show. */
  readonly eventBoards = signal<readonly string[]>([]);
  /** Ids of the boards that fans may not read now, as `boards` has them. */
  readonly hiddenBoards = signal<readonly string[]>([]);
  readonly refusal = signal<Refusal | null>(null);
  readonly fan = signal<FanUser | null>(null);
  /** The fan whose session the server has ended. */
  readonly ended = signal<FanUser | null>(null);
  readonly points = signal<Readonly<Record<string, number>> | null>(null);
  readonly notices = signal<readonly Notice[]>([]);
  /** The vote that was counted last. */
  readonly counted = signal<CountedVote | null>(null);
  /** What the live region says. */
  readonly said = signal("");
  /** How often the fan has asked for the top of the page. */
  readonly ups = signal(0);
  #heardAt = performance.now();
  #arrival: ReturnType<typeof setTimeout> | undefined;
  /** True once a fan was here, or has arrived. */
  #hasArrived = false;
  #cheering: ReturnType<typeof setTimeout> | undefined;
  #watching = new AbortController();
  #joining: Promise<FanUser> | null = null;
  #admitted: Promise<void> = Promise.resolve();
  readonly #seen = new Set<string>();

  constructor(data: PageData, { isPreview = false, only = null, mailed = signal(null) }: ShowOptions = {}) {
    this.data = data;
    this.mailed = mailed;
    this.isPreview = isPreview;
    this.only = only;
    this.version = signal(data.version);
    this.time.hear(data.now);
    const { id: projectId, spaceId, organisationId } = data.project;
    this.client = createFanClient({
      url: new URL(".", location.href).href.replace(/\/$/, ""),
      projectId,
      spaceId,
      organisationId,
      areas,
      storage: () => localStorage,
      onChange: user => this.#setFan(user),
      onEnd: (_, user) => {
        this.ended.value = user;
        this.votes.showKept(user.userId);
      },
    });
    for (const id of data.boards) this.boards.set(id, signal(undefined));
    this.votes = new Votes({
      projectId,
      eventId: data.event,
      action: data.settings.actions.vote,
      isPreview,
      loyalty: this.client.loyalty,
      join: () => this.join(),
      acted: vote => {
        this.counted.value = vote;
        // Fans cheer each second.
        if (this.items.get(vote.elementId)?.peek().content_type !== "cheer") void this.acted();
        else
          this.#cheering ??= setTimeout(() => {
            this.#cheering = undefined;
            void this.acted();
          }, cheersMs);
      },
    });
  }

  get event(): ListedEvent | undefined {
    return this.data.events.find(({ id }) => id === this.data.event);
  }

  /** Ids of all boards that the fan sees, as `boards` has them. */
  get listedBoards(): readonly string[] {
    const ids = [...this.data.boards, ...this.eventBoards.value.map(id => eventBoard + id)];
    return ids.filter(id => !this.hiddenBoards.value.includes(id));
  }

  get isEnded(): boolean {
    return this.eventState.value === "past" || this.eventState.value === "cancelled";
  }

  /** Follows the event alone, as screens do. */
  follow(): void {
    void this.#watch();
  }

  /** Follows the event, keeps the fan, and looks where the device is. */
  async start(): Promise<void> {
    void this.#checkPlace();
    this.follow();
    const fan = await this.client.session.user();
    if (fan !== null && this.fan.value === null) this.#setFan(fan);
    this.eventState.subscribe(() => this.#expect());
    document.addEventListener("visibilitychange", () => this.#expect());
    setInterval(() => {
      // The next round reads what this one could not.
      if (!document.hidden && this.fan.value !== null)
        this.#readNotices().then(
          titles => this.#sayAll(titles),
          () => {},
        );
    }, noticesMs);
    // What a device that slept shows is old.
    setInterval(() => this.time.wokeUp() && this.retry(), 1_000);
  }

  #setFan(fan: FanUser | null): void {
    const before = this.fan.value;
    this.fan.value = fan;
    // A fan who signs out becomes a guest with the next vote at the earliest.
    this.#hasArrived = true;
    if (fan !== null) this.ended.value = null;
    // What a guest has goes over to the account.
    this.votes.belongTo(fan?.userId ?? null, before?.provider === "anonymous" ? before.userId : null);
    void this.refreshFan();
  }

  /** Lets nobody join as a guest until it is known who the host's user is. */
  admit(admitted: Promise<void>): void {
    this.#admitted = admitted;
  }

  /** Returns the fan of this device; a guest where nobody is signed in. @throws {GrandstandError} */
  async join(): Promise<FanUser> {
    await this.#admitted;
    const known = await this.client.session.user();
    if (known !== null) return known;
    this.#joining ??= this.client.session
      .register({ provider: "anonymous" })
      .then(user => {
        if (user === null) throw new GrandstandError("bad_answer", "The sign-up begins no session");
        return user;
      })
      .finally(() => {
        this.#joining = null;
      });
    return await this.#joining;
  }

  /** Reads what the fan has: votes, points and what is new. */
  async refreshFan(): Promise<void> {
    if (this.fan.value === null) {
      this.points.value = null;
      this.notices.value = [];
      return;
    }
    const [notices] = await Promise.allSettled([this.#readNotices(), this.votes.read(), this.readPoints()]);
    if (notices.status === "fulfilled") this.#sayAll(notices.value);
  }

  async readPoints(): Promise<void> {
    const { metrics } = await this.client.loyalty.getRewardsProfile();
    this.points.value = metrics;
  }

  /** Takes what was read for something else, as points also come without an action of this device. */
  takePoints(metrics: Readonly<Record<string, number>>): void {
    if (JSON.stringify(metrics) !== JSON.stringify(this.points.value)) this.points.value = metrics;
  }

  /** Follows the effects of an action of the fan, and says what it won. */
  async acted(): Promise<void> {
    const before = this.points.peek();
    const [, notices] = await Promise.allSettled([this.readPoints(), this.#readNotices()]);
    const gains = Object.entries(this.points.peek() ?? {}).map(([id, value]) => value - (before?.[id] ?? 0));
    const won = before === null ? 0 : Math.max(0, ...gains);
    const titles = notices.status === "fulfilled" ? notices.value : [];
    this.#sayAll([...(won > 0 ? [t("won", { count: won })] : []), ...titles]);
  }

  say(text: string): void {
    this.said.value = text;
  }

  #sayAll(texts: readonly string[]): void {
    if (texts.length > 0) this.say(texts.join(". "));
  }

  /** Reads the entries of a board around a fan. @throws {GrandstandError} */
  async listAround(id: string, around: string, limit: number): Promise<readonly LeaderboardEntry[]> {
    const { leaderboards } = this.client;
    const { project, event } = this.data;
    const wanted = { projectId: project.id, around, limit };
    if (event === null || !id.startsWith(eventBoard))
      return await leaderboards.listProjectLeaderboard({ ...wanted, leaderboardId: id });
    const leaderboardId = id.slice(eventBoard.length);
    return await leaderboards.listEventLeaderboard({ ...wanted, eventId: event, leaderboardId });
  }

  /** Removes a notice that was seen. */
  seen(id: string): void {
    this.notices.value = this.notices.value.filter(notice => notice.id !== id);
    this.client.audience.readAudienceNotification({ notificationId: id }).catch(() => {});
  }

  /** Returns how old what is shown is, in ms; 0 while it is fresh. */
  age(): number {
    const { value: lost } = this.lost;
    const age = lost === null ? 0 : performance.now() - lost.since;
    return age < oldMs ? 0 : age;
  }

  /** Connects now, and sends what waits. */
  retry(): void {
    this.#watching.abort();
    this.#watching = new AbortController();
    this.votes.hurry();
    void this.#watch();
  }

  /** Lets the fan arrive at a random moment of the first minute in which the page of a running show is seen. */
  #expect(): void {
    const state = this.eventState.peek() ?? this.event?.state;
    if (this.#hasArrived || this.#arrival !== undefined || document.hidden || state !== "current") return;
    this.#arrival = setTimeout(() => {
      this.#arrival = undefined;
      // Seen again, the page has another first minute.
      if (this.#hasArrived || document.hidden) return;
      this.#hasArrived = true;
      // At Me fans say who they are. The first vote tries again, and says what is wrong.
      if (!location.hash.startsWith("#/me")) this.join().catch(() => {});
    }, Math.random() * arrivalMs);
  }

  /** Shows new notices, and returns their titles. */
  async #readNotices(): Promise<readonly string[]> {
    const listed = await this.client.loyalty.listLoyaltyNotifications();
    const fresh = listed.filter(({ id }) => !this.#seen.has(id));
    for (const { id } of fresh) this.#seen.add(id);
    const shown = fresh.map(({ id, type, title, message, display }) => ({
      id,
      title,
      message,
      isModal: display === "modal",
      isReward: /(Reached|Completed|Granted|Received)$/.test(type),
    }));
    if (shown.length > 0) this.notices.value = [...this.notices.value, ...shown];
    return shown.map(({ title }) => title);
  }

  async #checkPlace(): Promise<void> {
    const { project, event, limitsPlaces } = this.data;
    // The platform refuses an unknown country unless settings say otherwise, also where there is no policy to apply.
    if (!limitsPlaces) return;
    try {
      if (event === null) await this.client.location.checkProjectLocation({ projectId: project.id });
      else await this.client.location.checkEventLocation({ projectId: project.id, eventId: event });
    } catch (error) {
      if (!(error instanceof GrandstandError) || error.code !== "location_not_supported") return;
      const { country } = error.details as { readonly country?: { readonly iso_code: string } | null };
      this.refusal.value = { kind: "place", country: country?.iso_code ?? null };
    }
  }

  async #watch(): Promise<void> {
    const { boards, event, project } = this.data;
    const { signal: watching } = this.#watching;
    const onLost = ({ cause, retryMs }: LiveLoss): void => {
      this.lost.value = {
        since: this.lost.value?.since ?? this.#heardAt,
        retryAt: performance.now() + retryMs,
        isBusy: cause instanceof GrandstandError && (cause.status === 429 || cause.status === 503),
      };
    };
    const options = { onLost, signal: watching, polls: savesData };
    const named = boards.join(",");
    try {
      if (event === null) {
        const page = { prefix: project.id.slice(0, 2), projectId: project.id, boards: named, limit: 50 };
        for await (const document of this.client.feeds.watchProject(page, options)) {
          this.#hear(document);
          this.#takeBoards(document.leaderboards);
        }
      } else {
        const page = {
          prefix: event.slice(0, 2),
          eventId: event,
          boards: this.eventBoards.value.join(","),
          projectBoards: named,
          limit: 50,
        };
        for await (const document of this.client.feeds.watchEvent(page, options)) {
          this.#hear(document);
          this.take(document);
        }
      }
    } catch (error) {
      if (watching.aborted) return;
      if (error instanceof GrandstandError && error.code === "not_found") {
        this.refusal.value = { kind: "moved" };
        this.lost.value = null;
        return;
      }
      const retryMs = againMs * (0.5 + Math.random());
      onLost({ cause: error, retryMs });
      setTimeout(() => watching.aborted || void this.#watch(), retryMs);
    }
  }

  #hear({ now, page }: { readonly now: number; readonly page: string }): void {
    this.time.hear(now);
    this.version.value = page;
    this.#heardAt = performance.now();
    this.lost.value = null;
  }

  /** Shows what was heard of the event. */
  take({ history, livestats, leaderboards = {}, projectLeaderboards }: Heard): void {
    const stats = new Map(livestats.elements.map(stat => [stat.id, stat]));
    if (this.isLoaded.peek())
      this.#sayAll(history.timeline.flatMap(item => this.#newsOf(item, stats.get(item.id))));
    batch(() => {
      for (const item of history.timeline) setIn(this.items, item.id, item);
      for (const { id } of history.timeline) setIn(this.stats, id, stats.get(id));
      const ids = history.timeline.map(({ id }) => id);
      if (ids.join() !== this.ids.peek().join()) this.ids.value = ids;
      this.eventState.value = livestats.state;
      this.#takeBoards(projectLeaderboards);
      this.#takeBoards(leaderboards, eventBoard);
      this.isLoaded.value = true;
    });
    this.#followEventBoards(history.timeline);
  }

  /** Returns what is to be said of an element: that it is new, has closed, or has an answer or results. */
  #newsOf(item: Item, stat: Stat | undefined): readonly string[] {
    const before = this.items.get(item.id)?.peek();
    const title = titleOf(item);
    if (before === undefined) return [t("newElement", { title })];
    const { correct_option: answer = 0 } = item;
    const isAnswered = answer > 0 && before.correct_option === undefined;
    if (isAnswered && this.votes.of(item.id).peek() !== null)
      setTimeout(() => void this.acted(), settledMs * (1 + Math.random()));
    if (isAnswered) return [t("answerIs", { title, answer: textOf(item.options[answer - 1], "text") })];
    if (before.state === "current" && item.state !== "current") return [t("closed", { title })];
    const hadResults = this.stats.get(item.id)?.peek()?.votes !== undefined;
    const hasResults = item.vote.resultsMode !== "vote" && stat?.votes !== undefined;
    return hasResults && !hadResults ? [t("resultsOf", { title })] : [];
  }

  /** Adds the boards of the event that elements show to the stream. */
  #followEventBoards(timeline: readonly Item[]): void {
    const shown = timeline.filter(({ content_type: type }) => type === "leaderboard").map(boardOf);
    const ofEvent = shown.flatMap(id => /^event:([\w-]{1,64})$/.exec(id)?.[1] ?? []);
    const wanted = [...new Set(ofEvent.slice(-eventBoardsMax))].sort();
    if (wanted.join() === this.eventBoards.peek().join()) return;
    this.eventBoards.value = wanted;
    for (const id of wanted)
      if (!this.boards.has(eventBoard + id)) this.boards.set(eventBoard + id, signal(undefined));
    this.retry();
  }

  #takeBoards(boards: LiveEvent["leaderboards"], prefix = ""): void {
    for (const [id, board] of Object.entries(boards)) setIn(this.boards, prefix + id, board);
    const hidden = [...this.boards].flatMap(([id, board]) => (board.peek() === null ? [id] : []));
    if (hidden.join() !== this.hiddenBoards.peek().join()) this.hiddenBoards.value = hidden;
    this.isLoaded.value = true;
  }
}

/** Returns the id of the board that an element shows, as `boards` has it. */
export function boardOf({ custom_fields: fields }: Item): string {
  const round = Number(fieldOf(fields, "round") ?? 0);
  return Number.isInteger(round) && round > 0
    ? `${eventBoard}round_${round}`
    : textOf(fields, "leaderboard_id");
}

/** Writes into the signal of a key, which components bind. */
function setIn<T>(signals: Map<string, Signal<T>>, key: string, value: T): void {
  const found = signals.get(key);
  if (found === undefined) signals.set(key, signal(value));
  else found.value = value;
}

/** One element of a show, by its type. */

import { type Signal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { fieldOf, linkOf, Picture, Rich, textOf } from "./content.tsx";
import type { Item, Show, Stat } from "./show.ts";
import { duration, number, percent, t } from "./texts.ts";
import type { OwnVote } from "./votes.ts";

interface ElementProps {
  readonly show: Show;
  readonly id: string;
}

interface ItemProps {
  readonly show: Show;
  readonly item: Item;
}

const choices = new Set(["poll", "quiz", "prediction", "rpoll", "trivia"]);

export function titleOf({ question, custom_fields: fields, content_type: type }: Item): string {
  return (
    textOf(question, "question", "text", "prompt") ||
    textOf(fields, "title", "prompt", "question", "label", "caption") ||
    type
  );
}

/** An element as the fan sees it. */
export function Element({ show, id }: ElementProps) {
  const item = show.items.get(id)?.value;
  if (item === undefined) return null;
  const { content_type: type } = item;
  if (type === "group") return <Group show={show} item={item} />;
  return (
    <article
      class="card element"
      data-type={type}
      data-state={item.state}
      aria-labelledby={`t-${id}`}
      id={`e-${id}`}
    >
      {choices.has(type) ? (
        <Choice show={show} item={item} />
      ) : type === "rating" ? (
        <Rating show={show} item={item} />
      ) : type === "cheer" ? (
        <Cheer show={show} item={item} />
      ) : type === "countdown" ? (
        <Countdown show={show} item={item} />
      ) : (
        <Still show={show} item={item} />
      )}
    </article>
  );
}

function Title({ item }: { readonly item: Item }) {
  return (
    <h2 id={`t-${item.id}`} dir="auto">
      {titleOf(item)}
    </h2>
  );
}

function isOpen({ state }: Item): boolean {
  return state === "current";
}

/** The time until a deadline, or that it is over. One timer writes it, and a device that slept is right at once. */
export function Deadline({ show, at }: { readonly show: Show; readonly at: number }) {
  const left = useSignal(at - show.time.now());
  useEffect(() => {
    let timer = 0;
    const tick = (): void => {
      left.value = at - show.time.now();
      clearTimeout(timer);
      if (left.value > 0) timer = window.setTimeout(tick, (left.value % 1_000) + 5);
    };
    tick();
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [at]);
  const text = useComputed(() => (left.value > 0 ? duration(left.value) : t("timeUp")));
  const isShort = useComputed(() => left.value < 10_000);
  return (
    <button
      type="button"
      class="clock"
      data-short={isShort}
      title={t("timeIs")}
      onClick={() => show.say(left.value > 0 ? t("left", { time: text.value }) : text.value)}
    >
      <span role="timer">{text}</span>
    </button>
  );
}

function Head({ show, item }: ItemProps) {
  const { closes_at_iso: closes } = item;
  return (
    <div class="head">
      <Title item={item} />
      {isOpen(item) && closes !== undefined && <Deadline show={show} at={Date.parse(closes)} />}
      {!isOpen(item) && <span class="state">{t("timeUp")}</span>}
    </div>
  );
}

function Choice({ show, item }: ItemProps) {
  const own = show.votes.of(item.id);
  const marked = useSignal<readonly number[]>([]);
  const peeks = useSignal(false);
  const stat = show.stats.get(item.id);
  const most = item.vote.max === 0 ? item.options.length : item.vote.max;
  const isMany = most > 1;
  const least = Math.max(item.vote.min, 1);
  const mine = own.value;
  const mayVote = isOpen(item) && canVoteAgain(item, mine);
  const showsBars = showsResults(item, { own: mine, votes: stat?.value?.votes }) || peeks.value;
  const group = useRef<HTMLFieldSetElement>(null);
  function press(option: number): void {
    if (!mayVote) return;
    const { value } = marked;
    if (!isMany) show.votes.cast(item.id, [option]);
    else if (value.includes(option)) marked.value = value.filter(each => each !== option);
    else if (value.length < most) marked.value = [...value, option];
  }
  function send(): void {
    show.votes.cast(item.id, marked.value.toSorted());
    marked.value = [];
    group.current?.querySelector("button")?.focus();
  }
  function onKeyDown(event: KeyboardEvent): void {
    const option = optionOf(event, item);
    if (option === null) return;
    group.current?.querySelectorAll("button")[option - 1]?.focus();
    press(option);
  }
  return (
    <>
      <Head show={show} item={item} />
      <Picture url={fieldOf(item.question, "image")} />
      {isMany && mayVote && <p class="quiet">{t("choose", { count: most })}</p>}
      <fieldset class="options" aria-labelledby={`t-${item.id}`} ref={group} onKeyDown={onKeyDown}>
        {item.options.map((option, index) => (
          <Option
            key={index}
            item={item}
            label={textOf(option, "text") || String(index + 1)}
            image={fieldOf(option, "image")}
            option={index + 1}
            own={mine}
            isMarked={marked.value.includes(index + 1)}
            isOff={!mayVote}
            stat={showsBars ? stat : undefined}
            onPress={() => press(index + 1)}
          />
        ))}
      </fieldset>
      {isMany && mayVote && (
        <button type="button" class="main" disabled={marked.value.length < least} onClick={send}>
          {t("vote")}
        </button>
      )}
      <VoteLine own={mine} />
      <Answer item={item} own={mine} />
      {stat !== undefined && (
        <Results
          stat={stat}
          isShown={showsBars}
          onPeek={mayVote && !isQuiz(item) ? () => (peeks.value = true) : null}
        />
      )}
    </>
  );
}

type Votes = readonly number[] | undefined;

/** Returns the option that a key names; null: none. */
function optionOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent, { options }: Item): number | null {
  const option = Number(key);
  return option >= 1 && option <= options.length && !ctrlKey && !metaKey && !altKey ? option : null;
}

/** What others chose would tell the answer. */
function isQuiz({ content_type: type }: Item): boolean {
  return type === "quiz" || type === "trivia";
}

function hasVotes(votes: Votes): boolean {
  return votes?.some(each => each > 0) === true;
}

/** Results before the own vote sway it, so those of such elements are a step of their own. */
function showsResults(item: Item, { own, votes }: { readonly own: OwnVote | null; readonly votes: Votes }) {
  const hasVoted = own !== null && (own.count > 0 || own.state === "counted");
  if (isOpen(item) && isQuiz(item)) return false;
  return hasVotes(votes) && (hasVoted || !isOpen(item) || item.vote.resultsMode !== "vote");
}

interface ResultsProps {
  readonly stat: Signal<Stat | undefined>;
  readonly isShown: boolean;
  /** Null: there is nothing to vote any more. */
  readonly onPeek: (() => void) | null;
}

function Results({ stat, isShown, onPeek }: ResultsProps) {
  const votes = stat.value?.votes;
  if (votes === undefined) return null;
  if (isShown)
    return <p class="quiet">{t("votes", { count: votes.reduce((sum, each) => sum + each, 0) })}</p>;
  if (onPeek === null || !hasVotes(votes)) return null;
  return (
    <button type="button" class="plain" onClick={onPeek}>
      {t("seeResults")}
    </button>
  );
}

/** The right answer, once it is public, and whether the fan knew it. */
function Answer({ item, own }: { readonly item: Item; readonly own: OwnVote | null }) {
  if (item.correct_option === undefined || item.correct_option === 0) return null;
  return (
    <>
      {own !== null && own.options.length > 0 && own.state === "counted" && <Verdict item={item} own={own} />}
      <Explanation item={item} />
    </>
  );
}

function canVoteAgain(item: Item, own: OwnVote | null): boolean {
  if (own === null || own.state === "late") return own === null;
  if (own.state !== "counted" && own.state !== "refused" && own.state !== "verify") return false;
  return item.vote.perUser === 0 ? !isQuiz(item) : own.count < item.vote.perUser;
}

interface OptionProps {
  readonly item: Item;
  readonly label: string;
  readonly image: unknown;
  /** From 1 on. */
  readonly option: number;
  readonly own: OwnVote | null;
  readonly isMarked: boolean;
  readonly isOff: boolean;
  /** Absent while no results are shown. */
  readonly stat: Signal<Stat | undefined> | undefined;
  readonly onPress: () => void;
}

function Option({ item, label, image, option, own, isMarked, isOff, stat, onPress }: OptionProps) {
  const isMine = own?.options.includes(option) === true;
  const isRight = item.correct_option === option;
  const votes = stat?.value?.votes;
  const total = votes?.reduce((sum, each) => sum + each, 0) ?? 0;
  const part = votes === undefined || total === 0 ? 0 : (votes[option - 1] ?? 0) / total;
  const isLost = isMine && (own?.state === "late" || own?.state === "refused");
  return (
    <button
      type="button"
      class="option"
      aria-pressed={isMine || isMarked}
      aria-disabled={isOff}
      data-right={isRight}
      data-lost={isLost}
      onClick={onPress}
    >
      {votes !== undefined && (
        <span class="bar" style={{ inlineSize: `${part * 100}%` }} aria-hidden="true" />
      )}
      <span class="key" aria-hidden="true">
        {isRight ? "✓" : option}
      </span>
      <span class="label">
        <Picture url={image} />
        <span dir="auto">{label}</span>
        {isMine && !isLost && <span class="note">{t("yourVote")}</span>}
        {isRight && <span class="note right">{t("rightAnswer")}</span>}
      </span>
      {votes !== undefined && <span class="part">{percent(part)}</span>}
    </button>
  );
}

/** What has become of the fan's vote. */
function VoteLine({ own }: { readonly own: OwnVote | null }) {
  if (own === null) return null;
  const { state, until = 0 } = own;
  const seconds = Math.max(1, Math.ceil((until - performance.now()) / 1_000));
  return (
    <p class="vote" data-vote={state}>
      {state === "counted" ? `${t("counted")} ✓` : t(state, { seconds })}
    </p>
  );
}

function Verdict({ item, own }: { readonly item: Item; readonly own: OwnVote }) {
  const isRight = own.options.length === 1 && own.options[0] === item.correct_option;
  return (
    <p class="verdict" data-right={isRight}>
      {t(isRight ? "right" : "wrong")}
    </p>
  );
}

function Explanation({ item }: { readonly item: Item }) {
  const text = textOf(item.custom_fields, "explanation");
  return text === "" ? null : <Rich text={text} />;
}

function Rating({ show, item }: ItemProps) {
  const own = show.votes.of(item.id).value;
  const scale = Math.min(10, Math.max(2, Number(fieldOf(item.custom_fields, "scale") ?? 5)));
  const labels = fieldOf(item.custom_fields, "labels");
  const mayVote = isOpen(item) && canVoteAgain(item, own);
  const mine = own?.options[0] ?? 0;
  const labelOf = (value: number): string => {
    const label = Array.isArray(labels) ? labels[value - 1] : undefined;
    return typeof label === "string" && label !== "" ? `${value}, ${label}` : String(value);
  };
  return (
    <>
      <Head show={show} item={item} />
      <fieldset class="stars" aria-label={t("rate")}>
        {Array.from({ length: scale }, (_, index) => (
          <button
            key={index}
            type="button"
            class="star"
            aria-pressed={mine === index + 1}
            aria-disabled={!mayVote}
            aria-label={labelOf(index + 1)}
            data-on={mine > index}
            onClick={() => mayVote && show.votes.cast(item.id, [index + 1])}
          >
            {mine > index ? "★" : "☆"}
          </button>
        ))}
      </fieldset>
      <VoteLine own={own} />
    </>
  );
}

/** Time in which further taps belong to a cheer that was sent, in ms. */
const cheerMs = 1_000;

function Cheer({ show, item }: ItemProps) {
  const taps = useSignal(0);
  const sentAt = useRef(Number.NEGATIVE_INFINITY);
  const actions = show.stats.get(item.id)?.value?.actions ?? 0;
  const own = show.votes.of(item.id).value;
  const isOff = !isOpen(item) || own?.state === "spent" || own?.state === "late";
  const options = item.options.length > 0 ? item.options : [null];
  function cheer(option: number): void {
    if (isOff) return;
    taps.value += 1;
    if (performance.now() - sentAt.current < cheerMs) return;
    sentAt.current = performance.now();
    show.votes.cast(item.id, item.options.length > 0 ? [option] : []);
  }
  return (
    <>
      <Head show={show} item={item} />
      <div class="cheers">
        {options.map((option, index) => (
          <button
            key={index}
            type="button"
            class="cheer main"
            aria-disabled={isOff}
            onClick={() => cheer(index + 1)}
          >
            <span dir="auto">{option === null ? t("cheer") : textOf(option, "text") || t("cheer")}</span>
            <span class="burst" key={taps.value} data-taps={taps.value} aria-hidden="true">
              ♥
            </span>
          </button>
        ))}
      </div>
      <p class="quiet">{t("cheers", { count: actions })}</p>
      {own !== null && own.state !== "counted" && own.state !== "sending" && <VoteLine own={own} />}
    </>
  );
}

function Countdown({ show, item }: ItemProps) {
  const at = Date.parse(String(fieldOf(item.custom_fields, "target") ?? ""));
  const left = useSignal(at - show.time.now());
  useEffect(() => {
    const timer = setInterval(() => {
      left.value = at - show.time.now();
    }, 250);
    return () => clearInterval(timer);
  }, [at]);
  return (
    <>
      <Title item={item} />
      <p class="countdown" role="timer">
        {left.value > 0 ? duration(left.value) : t("atZero")}
      </p>
    </>
  );
}

/** Types that fans read, open or collect. */
function Still({ show, item }: ItemProps) {
  const { content_type: type, custom_fields: fields } = item;
  if (type === "message") {
    const severity = String(fieldOf(fields, "severity") ?? "info");
    const kind = (["info", "success", "warning", "error"] as const).find(each => each === severity) ?? "info";
    return (
      <>
        <p class="severity" data-severity={kind}>
          {t(`message_${kind}`)}
        </p>
        {textOf(fields, "title") === "" ? (
          <h2 class="hidden" id={`t-${item.id}`}>
            {t(`message_${kind}`)}
          </h2>
        ) : (
          <Title item={item} />
        )}
        <Picture url={fieldOf(fields, "image")} />
        <Rich text={textOf(fields, "body")} />
      </>
    );
  }
  if (type === "media") return <Media item={item} />;
  if (type === "cta") return <Action item={item} />;
  if (type === "reward") return <Reward show={show} item={item} />;
  if (type === "leaderboard") return <Leaders show={show} item={item} />;
  if (type === "ask") {
    return (
      <>
        <Title item={item} />
        <p class="quiet">{t("askOff")}</p>
      </>
    );
  }
  return (
    <>
      <h2 id={`t-${item.id}`} class="hidden">
        {type}
      </h2>
      <p class="quiet">{t("unknown", { type })}</p>
    </>
  );
}

function Media({ item }: { readonly item: Item }) {
  const url = linkOf(fieldOf(item.custom_fields, "asset"));
  const caption = textOf(item.custom_fields, "caption");
  const poster = linkOf(fieldOf(item.custom_fields, "poster"));
  const path = url === null ? "" : new URL(url).pathname;
  return (
    <figure>
      <figcaption id={`t-${item.id}`} dir="auto">
        {caption || t("message_info")}
      </figcaption>
      {url === null ? null : /\.(mp4|webm|mov|m4v)$/i.test(path) ? (
        <video controls preload="none" src={url} {...(poster !== null && { poster })} />
      ) : /\.(mp3|m4a|ogg|wav)$/i.test(path) ? (
        // biome-ignore lint/a11y/useMediaCaption: producers have no captions to give yet
        <audio controls preload="none" src={url} />
      ) : (
        <Picture url={url} text={caption} />
      )}
    </figure>
  );
}

function Action({ item }: { readonly item: Item }) {
  const url = linkOf(fieldOf(item.custom_fields, "url"));
  return (
    <>
      <Title item={item} />
      <Picture url={fieldOf(item.custom_fields, "image")} />
      {url !== null && (
        <a class="button main" href={url} target="_blank" rel="noopener noreferrer">
          {new URL(url).host} <span aria-hidden="true">↗</span>
          <span class="hidden">{t("opens")}</span>
        </a>
      )}
    </>
  );
}

function Reward({ show, item }: ItemProps) {
  const { custom_fields: fields } = item;
  const own = show.votes.of(item.id).value;
  const action = textOf(fields, "action");
  const amount = Number(fieldOf(fields, "amount") ?? 0);
  const isOff = !isOpen(item) || own !== null;
  return (
    <>
      <Title item={item} />
      {amount > 0 && <p class="amount">+{number(amount)}</p>}
      {action !== "" && (
        <button
          type="button"
          class="main"
          disabled={isOff}
          onClick={() => show.votes.cast(item.id, [], action)}
        >
          {t(own?.state === "counted" || own?.state === "spent" ? "collected" : "collect")}
        </button>
      )}
      {own !== null && own.state !== "counted" && own.state !== "spent" && <VoteLine own={own} />}
    </>
  );
}

function Leaders({ show, item }: ItemProps) {
  const id = textOf(item.custom_fields, "leaderboard_id");
  const limit = Number(fieldOf(item.custom_fields, "limit") ?? 10);
  const board = show.boards.get(id)?.value;
  return (
    <>
      <div class="head">
        <h2 id={`t-${item.id}`}>{t("board")}</h2>
        {show.boards.has(id) && <a href={`#/board/${encodeURIComponent(id)}`}>{boardName(id)}</a>}
      </div>
      <ol class="rows">
        {(board?.data ?? []).slice(0, limit).map(({ userId, rank, score, publicProfile }) => (
          <li key={userId} data-mine={userId === show.fan.value?.userId}>
            <span class="rank">{number(rank)}</span>
            <span class="name" dir="auto">
              {publicProfile.username || t("guest")}
            </span>
            <span class="points">{number(score)}</span>
          </li>
        ))}
      </ol>
      {board?.data.length === 0 && <p class="quiet">{t("emptyBoard")}</p>}
    </>
  );
}

/** Writes the id of a board as its name. */
export function boardName(id: string): string {
  const words = id.replace(/[_-]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function Group({ show, item }: ItemProps) {
  const children = show.ids.value.filter(id => show.items.get(id)?.value.parent === item.id);
  const layout = String(fieldOf(item.custom_fields, "layout") ?? "rail");
  const at = useSignal(0);
  const isSingle = layout === "sequence" || layout === "carousel";
  const index = Math.min(at.value, Math.max(children.length - 1, 0));
  const shown = isSingle ? children.slice(index, index + 1) : children;
  const step = (by: number, label: ComponentChildren) => (
    <button
      type="button"
      disabled={index + by < 0 || index + by >= children.length}
      onClick={() => (at.value = index + by)}
    >
      {label}
    </button>
  );
  return (
    <section class="group" data-layout={layout} aria-labelledby={`t-${item.id}`} id={`e-${item.id}`}>
      <Title item={item} />
      <div class="children" tabIndex={isSingle ? -1 : 0}>
        {shown.map(id => (
          <Element key={id} show={show} id={id} />
        ))}
      </div>
      {isSingle && children.length > 1 && (
        <div class="steps">
          {step(-1, t("previous"))}
          <span class="quiet">
            {number(index + 1)} / {number(children.length)}
          </span>
          {step(1, t("next"))}
        </div>
      )}
    </section>
  );
}

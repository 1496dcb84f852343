/** The show on a big screen, and over the picture of a broadcast: from public feeds alone, for people who look and do not touch. */

import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Qr } from "../../shared/page/qr.tsx";
import { altOf, fieldOf, linkOf, Picture, pictureOf, Rich, textOf, titleOf } from "./content.tsx";
import { choices } from "./elements.tsx";
import { deadlineOf, isOpen, isQuiz, Moved, useMoves } from "./parts.tsx";
import { boardOf, type Item, type Show } from "./show.ts";
import { useTimeLeft } from "./show_time.ts";
import { boardName, duration, number, percent, t } from "./texts.ts";

/** How long each element of a group is shown, in ms. */
const turnMs = 10_000;
/** Shortest time between two loads of the page, in ms, so that servers of two versions do not make it flicker. */
const reloadMs = 30_000;
const leadersMax = 10;
const answersMax = 4;
/** Elements whose newest answer is shown below another element. */
const otherAsksMax = 2;

interface ScreenProps {
  readonly show: Show;
  readonly isOverlay: boolean;
  /** Id of a board whose fans are counted. */
  readonly counted: string | null;
}

interface ItemProps {
  readonly show: Show;
  readonly item: Item;
}

export function Screen({ show, isOverlay, counted }: ScreenProps) {
  useReload(show);
  const item = useShown(show);
  const { settings, project } = show.data;
  const isMoved = show.refusal.value !== null;
  const isOver = show.isEnded;
  if (isOverlay) {
    if (item === undefined || isOver || item.content_type === "media") return null;
    return (
      <main class="over" key={item.id}>
        <Content show={show} item={item} isOverlay />
        <OtherAnswers show={show} item={item} />
      </main>
    );
  }
  return (
    <div class="stage" data-lost={show.lost.value !== null}>
      <header>
        {settings.logo !== undefined && <img class="logo" src={settings.logo} alt="" />}
        <h1 dir="auto">{show.event?.name ?? project.name}</h1>
        {show.eventState.value === "current" && <span class="live">{t("live")}</span>}
      </header>
      {isMoved ? (
        <Welcome title={t("moved")} />
      ) : isOver ? (
        <Welcome title={t("ended")} />
      ) : item === undefined ? (
        <Welcome title={show.event?.name ?? project.name} />
      ) : (
        <main key={item.id} data-type={item.content_type}>
          <Content show={show} item={item} isOverlay={false} />
          <OtherAnswers show={show} item={item} />
        </main>
      )}
      {!isMoved && !isOver && <Join show={show} item={item} counted={counted} />}
    </div>
  );
}

/** Loads the page anew once the platform has another version of it, while nothing moves. */
function useReload(show: Show): void {
  const isOld = show.version.value !== show.data.version;
  useEffect(() => {
    if (!isOld || show.isPreview) return;
    const timer = setInterval(() => {
      if (performance.now() > reloadMs && document.getAnimations().length === 0) location.reload();
    }, 1_000);
    return () => clearInterval(timer);
  }, [isOld]);
}

/** Returns true for elements that have something to show once they have closed. */
function hasResults({ content_type: type }: Item): boolean {
  return choices.has(type) || type === "rating";
}

function isDrawn(item: Item | undefined): boolean {
  return item !== undefined && (item.content_type === "group" || contents.has(item.content_type));
}

/** Returns the element of the address, or else the latest one on air, or the latest result; of a group its elements in turn. */
function useShown(show: Show): Item | undefined {
  const turn = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => {
      turn.value += 1;
    }, turnMs);
    return () => clearInterval(timer);
  }, []);
  const ids = show.ids.value;
  const itemOf = (id: string): Item | undefined => show.items.get(id)?.value;
  // What it cannot draw is left out.
  const drawn = ids.filter(each => isDrawn(itemOf(each)));
  const roots = drawn
    .filter(each => (show.only === null ? !ids.includes(itemOf(each)?.parent ?? "") : each === show.only))
    .flatMap(each => itemOf(each) ?? []);
  const item = roots.findLast(({ state }) => state === "current") ?? roots.findLast(hasResults);
  if (item?.content_type !== "group") return item;
  const parts = drawn.filter(each => itemOf(each)?.parent === item.id);
  return itemOf(parts[turn.value % parts.length] ?? "");
}

function Welcome({ title }: { readonly title: string }) {
  return (
    <main data-type="welcome">
      <h2 dir="auto">{title}</h2>
    </main>
  );
}

/** Longest address that somebody types from a screen. */
const typedCharactersMax = 40;

/** Where people join: the code, the address where it can be typed, and how many take part. */
function Join({
  show,
  item,
  counted,
}: Pick<ScreenProps, "show" | "counted"> & { readonly item?: Item | undefined }) {
  const { event, project, settings } = show.data;
  const link = item?.content_type === "cta" ? linkOf(fieldOf(item.custom_fields, "url")) : null;
  const page = new URL(location.pathname, location.href);
  page.search = event === null ? `?project=${project.id}` : `?event=${event}`;
  const address = link ?? page.href;
  const words = (link ?? settings.address ?? page.href).replace(/^https?:\/\/|\/$/g, "");
  const fans = counted === null ? undefined : show.boards.get(counted)?.value?.totalCount;
  return (
    <aside>
      <Qr address={address} label={t("qrCode", { address })} />
      <p class="take-part">{t(link === null ? "takePart" : "lookHere")}</p>
      {words.length <= typedCharactersMax && !/[?#]/.test(words) && (
        <p class="address" dir="ltr">
          {words.split(/(?=[./])/).map(part => [<wbr key={part} />, part])}
        </p>
      )}
      {fans !== undefined && <p class="fans">{t("fans", { count: fans })}</p>}
    </aside>
  );
}

interface ContentProps extends ItemProps {
  readonly isOverlay: boolean;
}

const contents: ReadonlyMap<string, ComponentType<ContentProps>> = new Map<
  string,
  ComponentType<ContentProps>
>([
  ...[...choices].map(type => [type, Choice] as const),
  ["rating", Rating],
  ["cheer", Cheer],
  ["countdown", Countdown],
  ["ask", Answers],
  ["message", Message],
  ["media", Media],
  ["cta", Action],
  ["reward", Reward],
  ["leaderboard", Leaders],
]);

function Content(props: ContentProps) {
  const View = contents.get(props.item.content_type);
  return View === undefined ? null : <View {...props} />;
}

function Message({ item }: ItemProps) {
  const { custom_fields: fields } = item;
  return (
    <>
      {textOf(fields, "title") !== "" && <Title item={item} />}
      <Rich text={textOf(fields, "body")} />
    </>
  );
}

function Title({ item, children }: { readonly item: Item; readonly children?: ComponentChildren }) {
  const title = titleOf(item);
  return (
    <div class="title">
      <h2 dir="auto" data-length={title.length > 110 ? "long" : title.length > 55 ? "medium" : "short"}>
        {title}
      </h2>
      {children}
    </div>
  );
}

/** The time that is left for an answer. */
function Deadline({ show, item }: ItemProps) {
  const deadline = deadlineOf(item);
  const left = useTimeLeft(show.time, deadline ?? 0);
  const text = useComputed(() => (left.value > 0 ? duration(left.value) : t("timeUp")));
  if (!isOpen(item)) return <span class="clock">{t("timeUp")}</span>;
  return deadline === undefined ? null : (
    <span class="clock" data-short={left.value < 10_000}>
      {text}
    </span>
  );
}

function Choice({ show, item }: ItemProps) {
  const stat = show.stats.get(item.id);
  const votes = isQuiz(item) && isOpen(item) ? undefined : stat?.value?.votes;
  const total = votes?.reduce((sum, each) => sum + each, 0) ?? 0;
  return (
    <>
      <Title item={item}>
        <Deadline show={show} item={item} />
      </Title>
      <ol class="bars" data-count={item.options.length > 4 ? "many" : "few"}>
        {item.options.map((option, index) => {
          const part = total === 0 ? 0 : (votes?.[index] ?? 0) / total;
          const isRight = item.correct_option === index + 1;
          return (
            <li key={index} data-right={isRight} data-faded={!isRight && (item.correct_option ?? 0) > 0}>
              <span class="bar" style={{ inlineSize: `${part * 100}%` }} />
              <span class="key">{isRight ? "✓" : index + 1}</span>
              <span class="label" dir="auto">
                {textOf(option, "text") || index + 1}
                {isRight && <span class="hidden"> {t("rightAnswer")}</span>}
              </span>
              {total > 0 && <span class="part">{percent(part)}</span>}
            </li>
          );
        })}
      </ol>
      {total > 0 && <p class="total">{t("votes", { count: total })}</p>}
    </>
  );
}

function Rating({ show, item }: ItemProps) {
  const votes = show.stats.get(item.id)?.value?.votes ?? [];
  const total = votes.reduce((sum, each) => sum + each, 0);
  const scale = Math.min(10, Math.max(2, Number(fieldOf(item.custom_fields, "scale") ?? 5)));
  const mean = total === 0 ? 0 : votes.reduce((sum, each, index) => sum + each * (index + 1), 0) / total;
  return (
    <>
      <Title item={item}>
        <Deadline show={show} item={item} />
      </Title>
      <div class="mean">
        <span class="stars" aria-hidden="true">
          {Array.from({ length: scale }, (_, index) => (
            <Star key={index} part={Math.min(1, Math.max(0, mean - index))} />
          ))}
        </span>
        {total > 0 && <strong>{number(Math.round(mean * 10) / 10)}</strong>}
      </div>
      {total > 0 && <p class="total">{t("votes", { count: total })}</p>}
    </>
  );
}

/** A star of which a part is full. */
function Star({ part }: { readonly part: number }) {
  return (
    <span class="star">
      ★
      <span class="full" style={{ inlineSize: `${part * 100}%` }}>
        ★
      </span>
    </span>
  );
}

/** How loud it is: cheers of the last moments, beside the loudest one. */
function Cheer({ show, item }: ItemProps) {
  const actions = show.stats.get(item.id)?.value?.actions ?? 0;
  const last = useRef({ at: performance.now(), actions, most: 0 });
  const level = useSignal(0);
  useEffect(() => {
    const { at, actions: before, most } = last.current;
    const now = performance.now();
    const rate = Math.max(0, actions - before) / Math.max(1, now - at);
    last.current = { at: now, actions, most: Math.max(most, rate) };
    level.value = last.current.most === 0 ? 0 : rate / last.current.most;
    const timer = setTimeout(() => {
      level.value = 0;
    }, 5_000);
    return () => clearTimeout(timer);
  }, [actions]);
  return (
    <>
      <Title item={item} />
      <div class="meter" aria-hidden="true">
        <span style={{ inlineSize: `${4 + level.value * 96}%` }} />
      </div>
      <p class="amount">{t("cheers", { count: actions })}</p>
    </>
  );
}

function Countdown({ show, item }: ItemProps) {
  const at = Date.parse(String(fieldOf(item.custom_fields, "target") ?? ""));
  const left = useTimeLeft(show.time, at);
  return (
    <>
      <Title item={item} />
      <p class="countdown">{left.value > 0 ? duration(left.value) : t("now")}</p>
    </>
  );
}

function Answers({ item }: { readonly item: Item }) {
  return (
    <>
      <Title item={item} />
      <AnswerList item={item} most={answersMax} />
    </>
  );
}

function AnswerList({ item, most }: { readonly item: Item; readonly most: number }) {
  return (
    <ul class="answers">
      {(item.answers ?? []).slice(0, most).map(({ id, text }) => (
        <li key={id} dir="auto">
          {text}
        </li>
      ))}
    </ul>
  );
}

/** What the team has chosen of other elements on air that ask for texts: a newer element does not take it away. */
function OtherAnswers({ show, item }: ItemProps) {
  if (show.only !== null) return null;
  return show.ids.value
    .flatMap(id => show.items.get(id)?.value ?? [])
    .filter(({ id, state, answers = [] }) => id !== item.id && state === "current" && answers.length > 0)
    .slice(-otherAsksMax)
    .map(ask => (
      <section key={ask.id} class="other">
        <h3 dir="auto">{titleOf(ask)}</h3>
        <AnswerList item={ask} most={1} />
      </section>
    ));
}

function Media({ item }: { readonly item: Item }) {
  const asset = fieldOf(item.custom_fields, "asset");
  const url = linkOf(asset);
  const caption = textOf(item.custom_fields, "caption");
  const isFilm = url !== null && /\.(mp4|webm|mov|m4v)$/i.test(new URL(url).pathname);
  return (
    <figure>
      {isFilm ? (
        <video src={url} autoplay muted loop playsInline />
      ) : (
        <Picture url={url} text={altOf(item, asset) ?? caption} />
      )}
      {caption !== "" && <figcaption dir="auto">{caption}</figcaption>}
    </figure>
  );
}

/** Over a picture there is no column for codes, so that the element has its own. */
function Action({ item, isOverlay }: ContentProps) {
  const url = linkOf(fieldOf(item.custom_fields, "url"));
  return (
    <div class="beside">
      <div>
        <Title item={item} />
        {url !== null && <p class="address">{new URL(url).host}</p>}
        {!isOverlay && <Picture {...pictureOf(item, item.custom_fields)} />}
      </div>
      {isOverlay && url !== null && <Qr address={url} label={t("qrCode", { address: url })} />}
    </div>
  );
}

function Reward({ show, item, isOverlay }: ContentProps) {
  const amount = Number(fieldOf(item.custom_fields, "amount") ?? 0);
  const page = new URL(`?event=${show.data.event}`, location.href).href;
  return (
    <div class="beside">
      <div>
        <Title item={item} />
        {amount > 0 && <p class="amount">+{number(amount)}</p>}
      </div>
      {isOverlay && <Qr address={page} label={t("qrCode", { address: page })} />}
    </div>
  );
}

function Leaders({ show, item }: ItemProps) {
  const id = boardOf(item);
  const entries = show.boards.get(id)?.value?.data.slice(0, leadersMax) ?? [];
  const movesOf = useMoves(entries);
  return (
    <>
      <h2>{boardName(id)}</h2>
      <ol class="leaders">
        {entries.map(entry => (
          <li key={entry.userId} data-rank={entry.rank}>
            <span class="rank">{number(entry.rank)}</span>
            <span class="name" dir="auto">
              {entry.publicProfile.username || t("guest")}
            </span>
            <Moved by={movesOf(entry)} />
            <span class="points">{number(entry.score)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

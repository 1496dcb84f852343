/** What is on now: the published elements, newest first. */

import { useComputed, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { titleOf } from "./content.tsx";
import { Element } from "./elements.tsx";
import { Events, eventAddress } from "./events.tsx";
import type { Show } from "./show.ts";
import { useTimeLeft } from "./show_time.ts";
import { duration, moment, t, timeLeft } from "./texts.ts";

/** Elements that are shown at first, and that each step down adds. */
const step = 30;

export function Now({ show }: { readonly show: Show; readonly rest: string }) {
  const { event } = show.data;
  if (event === null && show.ids.value.length === 0) return <Next show={show} />;
  return <Timeline show={show} />;
}

function Timeline({ show }: { readonly show: Show }) {
  const count = useSignal(step);
  const fresh = useSignal<string | null>(null);
  const known = useRef<ReadonlySet<string> | null>(null);
  const top = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const isUp = useSignal(true);
  const ids = show.ids.value;
  const isLoaded = show.isLoaded.value;
  const { current: before } = known;
  // A frame as high as its content keeps no place: what is new waits until the fan is at the top.
  const isHeld = before !== null && !isUp.value && "embedded" in document.documentElement.dataset;
  const seen = isHeld ? ids.filter(id => before.has(id)) : ids;
  useEffect(() => {
    if (!isLoaded) return;
    const added = before === null ? undefined : ids.findLast(id => !before.has(id));
    if (!isHeld) known.current = new Set(ids);
    if (isUp.value) fresh.value = null;
    else if (added !== undefined) fresh.value = added;
  }, [ids, isLoaded, isUp.value]);
  useVisible(end, isLoaded, isVisible => {
    if (isVisible) count.value += step;
  });
  useVisible(top, isLoaded, isVisible => {
    isUp.value = isVisible;
  });
  if (!isLoaded) return <Skeleton show={show} />;
  const roots =
    show.only === null
      ? seen.filter(id => !ids.includes(show.items.get(id)?.peek().parent ?? ""))
      : seen.filter(id => id === show.only);
  const shown = roots.toReversed().slice(0, count.value);
  function goUp(): void {
    const id = fresh.value;
    scrollTo({ top: 0 });
    show.ups.value++;
    isUp.value = true;
    setTimeout(() =>
      document.getElementById(`e-${id}`)?.querySelector("button")?.focus({ preventScroll: true }),
    );
  }
  const { value: freshId } = fresh;
  const freshItem = freshId === null ? undefined : show.items.get(freshId)?.value;
  return (
    <>
      <div ref={top} class="hidden" />
      {freshItem !== undefined && (
        <button type="button" class="chip" onClick={goUp}>
          <span dir="auto">{t("newElement", { title: titleOf(freshItem) })}</span>{" "}
          <span aria-hidden="true">↑</span>
        </button>
      )}
      {shown.length > 0 && show.isEnded && (
        <p class="card empty">
          {t("ended")} <a href="#/events">{t("events")}</a>
        </p>
      )}
      {shown.length === 0 ? (
        <Waiting show={show} />
      ) : (
        <div class="timeline">
          {shown.map(id => (
            <Element key={id} show={show} id={id} />
          ))}
        </div>
      )}
      <div ref={end} />
    </>
  );
}

/** Tells whether an element is in the visible part of the page, and whenever that changes. */
function useVisible(
  element: RefObject<HTMLElement | null>,
  isDrawn: boolean,
  tell: (isVisible: boolean) => void,
): void {
  useEffect(() => {
    const { current: target } = element;
    if (target === null) return;
    const watcher = new IntersectionObserver(entries => tell(entries.at(-1)?.isIntersecting === true));
    watcher.observe(target);
    return () => watcher.disconnect();
  }, [isDrawn]);
}

function Skeleton({ show }: { readonly show: Show }) {
  const lost = show.lost.value;
  return (
    <>
      {lost !== null && <p class="quiet">{t(lost.isBusy ? "busy" : "connecting")}</p>}
      <div class="card skeleton" aria-busy="true" />
    </>
  );
}

function Waiting({ show }: { readonly show: Show }) {
  const state = show.eventState.value;
  if (show.isEnded) return <Events show={show} rest="" note={t("ended")} />;
  if (state === "future") return <Next show={show} />;
  return <p class="card empty">{t("waitingForShow")}</p>;
}

/** The event that comes next. */
function Next({ show }: { readonly show: Show }) {
  const { events, event } = show.data;
  const next =
    events.find(({ id }) => id === event) ??
    events.find(({ state }) => state === "current") ??
    events.find(({ state }) => state === "future");
  if (next === undefined || next.state === "past") return <Events show={show} rest="" note={t("noShow")} />;
  const isHere = next.id === event;
  return (
    <section class="card next">
      <p class="quiet">{t(next.state === "current" ? "running" : "future")}</p>
      <h2 dir="auto">{next.name}</h2>
      {next.state !== "current" && <Beginning show={show} at={(next.start_at ?? 0) * 1_000} />}
      {!isHere && (
        <a class="button main" href={eventAddress(next.id)}>
          {t("nextShow", { name: next.name })}
        </a>
      )}
    </section>
  );
}

/** Longest time that is counted down by the second, in ms. */
const countedMs = 86_400_000;

/** When an event begins, and how long that is from now; 0: when its host says so. */
function Beginning({ show, at }: { readonly show: Show; readonly at: number }) {
  const left = useTimeLeft(show.time, at);
  const isDue = useComputed(() => left.value <= 0);
  const text = useComputed(() => (left.value < countedMs ? duration(left.value) : timeLeft(left.value)));
  if (isDue.value) return <p>{t("byHand")}</p>;
  return (
    <>
      <p>{t("begins", { time: moment(at, show.time.now()) })}</p>
      <p class="countdown" role="timer">
        {text}
      </p>
    </>
  );
}

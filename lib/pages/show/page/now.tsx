/** What is on now: the published elements, newest first. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { titleOf } from "./content.tsx";
import { Element } from "./elements.tsx";
import { Events, eventAddress } from "./events.tsx";
import type { Show } from "./show.ts";
import { moment, t } from "./texts.ts";

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
  const end = useRef<HTMLDivElement>(null);
  const ids = show.ids.value;
  const isLoaded = show.isLoaded.value;
  useEffect(() => {
    if (!isLoaded) return;
    const { current: before } = known;
    known.current = new Set(ids);
    const added = before === null ? undefined : ids.findLast(id => !before.has(id));
    const item = added === undefined ? undefined : show.items.get(added)?.value;
    if (added === undefined || item === undefined) return;
    if (scrollY > 80) fresh.value = added;
  }, [ids, isLoaded]);
  useEffect(() => {
    const { current: target } = end;
    if (target === null) return;
    const watcher = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) count.value += step;
    });
    watcher.observe(target);
    return () => watcher.disconnect();
  }, [isLoaded]);
  if (!isLoaded) return <Skeleton show={show} />;
  const roots =
    show.only === null
      ? ids.filter(id => !ids.includes(show.items.get(id)?.peek().parent ?? ""))
      : ids.filter(id => id === show.only);
  const shown = roots.toReversed().slice(0, count.value);
  function goUp(): void {
    scrollTo({ top: 0 });
    document.getElementById(`e-${fresh.value}`)?.querySelector("button")?.focus({ preventScroll: true });
    fresh.value = null;
  }
  const { value: freshId } = fresh;
  const freshItem = freshId === null ? undefined : show.items.get(freshId)?.value;
  return (
    <>
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
      {next.state !== "current" && (
        <p>
          {next.start_at === null || next.start_at * 1_000 < show.time.now()
            ? t("byHand")
            : t("begins", { time: moment(next.start_at * 1_000, show.time.now()) })}
        </p>
      )}
      {!isHere && (
        <a class="button main" href={eventAddress(next.id)}>
          {t("nextShow", { name: next.name })}
        </a>
      )}
    </section>
  );
}

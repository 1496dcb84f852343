/** Runs a show: what is on air, what comes next, and what fans do, on one page. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { textOf } from "../api.ts";
import { drawLine } from "../charts.ts";
import { Editor } from "../editor/editor.tsx";
import { NewElement, type NewElementProps, useContentTypes } from "../new_element.tsx";
import { useCommands } from "../palette.tsx";
import { messageOf } from "../problem.ts";
import { beginningsOf, optionsOf, titleOf } from "../results.ts";
import { Share } from "../share.tsx";
import { Act, announce, Dialog, DialogButtons, State } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { After } from "./after.tsx";
import { useAim } from "./aim.ts";
import { Desk } from "./desk.ts";
import { Monitor } from "./monitor.tsx";
import { clockText, Fault, numbers } from "./row.tsx";
import { othersOf, Rundown } from "./rundown.ts";
import { Timeline } from "./timeline.tsx";

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const windowMs = 120_000;

export function Run({ context }: { readonly context: ViewContext }) {
  const desk = useMemo(() => new Desk(context, new Rundown(context, { isByClock: true })), []);
  const current = useSignal<string | null>(null);
  const { rundown } = desk;
  useContentTypes(context, desk);
  useEffect(() => rundown.start(), []);
  const root = useRef<HTMLDivElement>(null);
  useAim(root);
  const isEmpty = rundown.isLoaded.value && rundown.items.size === 0 && rundown.order().length === 0;
  const { ids } = rundown;
  const hasRows = ids.air.value.length + ids.next.value.length + ids.done.value.length > 0;
  const { item } = context.place;
  const closeEditor = (): void => {
    location.hash = desk.hrefTo();
  };
  const shown = current.value ?? desk.cued.value ?? ids.air.value.at(-1) ?? null;
  return (
    <div class="run" ref={root}>
      <Bar context={context} desk={desk} />
      <Lost desk={desk} />
      <After context={context} desk={desk} />
      {desk.refusal !== null && <p class="note">You can watch. {desk.refusal}</p>}
      <Fault desk={desk} id="" />
      {isEmpty && !hasRows ? (
        <Empty context={context} desk={desk} />
      ) : !hasRows ? (
        <Skeleton />
      ) : (
        <div class="desk" data-edits={item !== null}>
          <div class="stack">
            <Timeline desk={desk} current={current} />
            <NewElement context={context} desk={desk} />
          </div>
          {item === null ? (
            <Monitor context={context} desk={desk} id={shown} />
          ) : (
            <Editor key={item} context={context} desk={desk} id={item} onClose={closeEditor} />
          )}
        </div>
      )}
      <AnswerDialog desk={desk} />
      <ShiftDialog desk={desk} />
    </div>
  );
}

/** Whether the show is live, its clock, and what fans do. */
function Bar({ context, desk }: PartProps) {
  const [asks, setAsks] = useState(false);
  const [shares, setShares] = useState(false);
  const { rundown, refusal } = desk;
  const event = rundown.event.value;
  const { start_at: begin, actions = [] } = event.attributes;
  const state = textOf(event, "state");
  const can = actions as readonly string[];
  const isLive = state === "current";
  const [canStart, canStop] = ["start", "stop"].map(action => can.includes(action));
  useCommands(() => [
    ...(canStart ? [{ label: "Start the show", refusal, run: () => void desk.startEvent() }] : []),
    ...(canStop ? [{ label: "Stop the show", refusal, run: () => void desk.stopEvent() }] : []),
    { label: "Extra time and on demand", refusal, run: () => setAsks(true) },
    { label: "Shift all times to come…", refusal, run: () => desk.shiftTimes() },
    { label: "Share the show", refusal: null, run: () => setShares(true) },
  ]);
  return (
    <section class="bar-of-run" aria-label="The show">
      <div class="row">
        <span class="when">
          <State state={state} />
          {isLive && Number(begin ?? 0) > 0 && <Clock desk={desk} since={Number(begin)} />}
        </span>
        {/* Each button keeps its place, so that no other one comes under the pointer. */}
        <Act
          class={canStart ? "main" : ""}
          refusal={refusal ?? (canStart ? null : "The show has begun.")}
          onPress={() => void desk.startEvent()}
        >
          Start the show
        </Act>
        <Act refusal={refusal ?? (isLive ? null : "The show does not run.")} onPress={() => setAsks(true)}>
          Extra time
        </Act>
        <Act
          refusal={refusal ?? (canStop ? null : "The show does not run.")}
          onPress={() => void desk.stopEvent()}
        >
          Stop the show…
        </Act>
        <Act onPress={() => setShares(true)}>Share</Act>
      </div>
      <Figures context={context} desk={desk} />
      {shares && <Share context={context} onClose={() => setShares(false)} />}
      {asks && <Times desk={desk} close={() => setAsks(false)} />}
    </section>
  );
}

function Clock({ desk, since }: { readonly desk: Desk; readonly since: number }) {
  return (
    <span class="clock" role="timer">
      {clockText(desk.rundown.now.value - since)}
    </span>
  );
}

function Figures({ context, desk }: PartProps) {
  const { figures, watching, latency, lostAt, colleagues } = desk.rundown;
  const plot = useRef<HTMLSpanElement>(null);
  const line = useMemo(() => drawLine(windowMs, 24, values => [0, Math.max(1, ...values)]), []);
  const { actions = null, perSecond = null } = figures.value ?? {};
  useEffect(() => plot.current?.append(line.element), []);
  useEffect(() => line.add(performance.now(), perSecond ?? 0), [figures.value]);
  const others = othersOf(colleagues.value, context.user.value?.id ?? null);
  const figure = (label: string, value: string) => (
    <div class="figure">
      <dd>{value}</dd>
      <dt>{label}</dt>
    </div>
  );
  return (
    <dl class="figures-of-run" aria-label="Live statistics">
      {others.length > 0 && figure("also here", others.join(", "))}
      {watching.value !== null && figure("watching", numbers.format(watching.value))}
      {figure("actions", figureText(actions))}
      <div class="figure">
        <dd>
          {figureText(perSecond === null ? null : Math.round(perSecond * 10) / 10)}{" "}
          <span class="spark" ref={plot} />
        </dd>
        <dt>per second</dt>
      </div>
      <div class="figure" data-live={lostAt.value === null}>
        <dd>{lostAt.value !== null ? "not live" : figures.value === null ? "connecting" : "connected"}</dd>
        <dt>{latency.value === null ? "–" : `${latency.value} ms`}</dt>
      </div>
    </dl>
  );
}

/** Returns a figure as a text; null: it is not there yet. */
function figureText(value: number | null): string {
  return value === null ? "–" : numbers.format(value);
}

function Lost({ desk }: { readonly desk: Desk }) {
  const { value: lostAt } = desk.rundown.lostAt;
  return (
    <p class="lost" role="alert">
      {lostAt === null
        ? ""
        : `Not live since ${clock.format(lostAt)}. What you see may be old. Nothing is queued: an action is sent at once or refused.`}
    </p>
  );
}

/** Extra time and time on demand, in minutes. */
function Times({ desk, close }: { readonly desk: Desk; readonly close: () => void }) {
  const { extra_time_duration: extra, on_demand_duration: onDemand } = desk.rundown.event.value.attributes;
  const [more, setMore] = useState("5");
  // What nobody has typed stays as it is, also where somebody else changes it meanwhile.
  const [kept, setKept] = useState<string | null>(null);
  const minutes = (text: string): number => Math.round(Number(text) * 60);
  function save(): void {
    close();
    void desk.changeTimes({
      extra_time_duration: Number(extra ?? 0) + minutes(more),
      ...(kept !== null && { on_demand_duration: minutes(kept) }),
    });
  }
  return (
    <Dialog title="Extra time" onClose={close}>
      <form
        class="stack labelled"
        onSubmit={event => {
          event.preventDefault();
          save();
        }}
      >
        <label>
          Minutes more
          <input
            type="number"
            min="0"
            max="600"
            value={more}
            onInput={event => setMore(event.currentTarget.value)}
          />
        </label>
        <label>
          Minutes that it stays open on demand after its end
          <input
            type="number"
            min="0"
            max="43200"
            value={kept ?? String(Number(onDemand ?? 0) / 60)}
            onInput={event => setKept(event.currentTarget.value)}
          />
        </label>
        <DialogButtons confirm="Extend the show" close={close} />
      </form>
    </Dialog>
  );
}

/** Asks for the right option where none is set. */
function AnswerDialog({ desk }: { readonly desk: Desk }) {
  const { value: id } = desk.asksAnswer;
  const item = id === null ? undefined : desk.rundown.item(id);
  if (item === undefined) return null;
  const close = (): void => {
    desk.asksAnswer.value = null;
  };
  return (
    <Dialog title={`Which is right? “${titleOf(item.attributes)}”`} onClose={close}>
      <div class="stack">
        <p class="quiet">Everybody sees the answer, and it cannot be taken back.</p>
        {optionsOf(item.attributes).map((option, index) => (
          <button
            key={index}
            type="button"
            class="wide"
            onClick={() => void desk.revealAnswer(item.id, index + 1)}
          >
            <span dir="auto">{option}</span>
          </button>
        ))}
        <div class="row end">
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}

type ShiftView = typeof import("../plan/shift.tsx")["Shift"];

/** The dialog loads when somebody shifts times. */
function ShiftDialog({ desk }: { readonly desk: Desk }) {
  const [loaded, setLoaded] = useState<{ readonly View: ShiftView } | null>(null);
  const { value: ids } = desk.shifted;
  const close = (): void => {
    desk.shifted.value = null;
  };
  useEffect(() => {
    if (ids === null || loaded !== null) return;
    import("../plan/shift.tsx").then(
      ({ Shift }) => setLoaded({ View: Shift }),
      error => announce(messageOf(error)),
    );
  }, [ids]);
  return ids === null || loaded === null ? null : <loaded.View desk={desk} ids={ids} close={close} />;
}

interface PartProps {
  readonly context: ViewContext;
  readonly desk: Desk;
}

const firstTypes = ["poll", "quiz", "message"];

function Empty({ context, desk }: NewElementProps) {
  const types = desk.types.value ?? [];
  const first = firstTypes.flatMap(name => types.filter(({ content_type: type }) => type === name));
  return (
    <section class="empty stack">
      <h2>Add your first element</h2>
      <p>
        It begins as a draft that only your team sees. Once the show has started, <b>Cue</b> and <b>Take</b>{" "}
        put it on the page of your fans, whose address is under <b>Share</b>.
      </p>
      <div class="row">
        {first.flatMap(beginningsOf).map(({ label, contentType, data }) => (
          <Act key={label} refusal={desk.refusal} onPress={() => void desk.create(contentType, data)}>
            {label}
          </Act>
        ))}
        <NewElement context={context} desk={desk} />
      </div>
    </section>
  );
}

function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <span />
      <span />
      <span />
    </div>
  );
}

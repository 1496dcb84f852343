/** What fans answer without options: ratings, texts and cheers. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fieldOf, textOf } from "./content.tsx";
import { canVoteAgain, Head, type ItemProps, isOpen, Results, showsResults, VoteLine } from "./parts.tsx";
import { number, t } from "./texts.ts";

/** Scale up to which a rating has stars; longer ones have numbers. */
const starsMax = 5;

export function Rating({ show, item }: ItemProps) {
  const own = show.votes.of(item.id).value;
  const stat = show.stats.get(item.id);
  const chosen = useSignal(0);
  const scale = Math.min(10, Math.max(2, Number(fieldOf(item.custom_fields, "scale") ?? 5)));
  const labels = fieldOf(item.custom_fields, "labels");
  const mayVote = isOpen(item) && canVoteAgain(item, own);
  const value = chosen.value || (own?.options[0] ?? 0);
  const votes = stat?.value?.votes;
  const isShown = showsResults(item, { own, votes });
  const labelOf = (each: number): string => {
    const label = Array.isArray(labels) ? labels[each - 1] : undefined;
    return typeof label === "string" ? label : "";
  };
  function send(event: Event): void {
    event.preventDefault();
    show.votes.cast(item.id, { options: [chosen.value] });
    chosen.value = 0;
  }
  return (
    <>
      <Head show={show} item={item} />
      <form onSubmit={send}>
        <fieldset
          class="rating"
          data-stars={scale <= starsMax}
          aria-labelledby={`t-${item.id}`}
          disabled={!mayVote}
        >
          {Array.from({ length: scale }, (_, index) => index + 1).map(each => (
            <label key={each} class="mark" data-on={scale <= starsMax ? each <= value : each === value}>
              <input
                type="radio"
                class="hidden"
                name={`r-${item.id}`}
                checked={value === each}
                onChange={() => (chosen.value = each)}
              />
              <span aria-hidden="true">{scale > starsMax ? number(each) : each <= value ? "★" : "☆"}</span>
              <span class="hidden">
                {[number(each), labelOf(each)].filter(text => text !== "").join(", ")}
              </span>
            </label>
          ))}
        </fieldset>
        <p class="chosen" dir="auto">
          {value > 0 ? labelOf(value) || t("ofScale", { value, scale }) : t("rate")}
        </p>
        {mayVote && (
          <button type="submit" class="main" disabled={chosen.value === 0}>
            {t("vote")}
          </button>
        )}
      </form>
      <VoteLine own={own} />
      {isShown && votes !== undefined && <Mean votes={votes} scale={scale} />}
      {stat !== undefined && <Results stat={stat} isShown={isShown} onPeek={null} />}
    </>
  );
}

function Mean({ votes, scale }: { readonly votes: readonly number[]; readonly scale: number }) {
  const count = votes.reduce((sum, each) => sum + each, 0);
  const sum = votes.reduce((all, each, index) => all + each * (index + 1), 0);
  return (
    <p class="mean">
      <strong>{number(Math.round((sum / count) * 10) / 10)}</strong> {t("meanOf", { scale })}
    </p>
  );
}

/** Longest text of an answer, where the element names none. */
const textDefault = 280;

export function Ask({ show, item }: ItemProps) {
  const own = show.votes.of(item.id).value;
  const text = useSignal("");
  const longest = Number(fieldOf(item.custom_fields, "max_length") ?? textDefault);
  const mayVote = isOpen(item) && canVoteAgain(item, own);
  function send(event: Event): void {
    event.preventDefault();
    show.votes.cast(item.id, { options: [], text: text.value.trim() }, show.data.settings.actions.ask);
    text.value = "";
  }
  return (
    <>
      <Head show={show} item={item} />
      {mayVote && (
        <form onSubmit={send}>
          <label>
            {t("yourText")}
            <textarea
              rows={3}
              dir="auto"
              required
              maxLength={longest}
              value={text}
              onInput={({ currentTarget }) => (text.value = currentTarget.value)}
              aria-describedby={`n-${item.id}`}
            />
          </label>
          <div class="row">
            <span class="quiet" id={`n-${item.id}`}>
              {t("textLength", { count: text.value.length, longest })}
            </span>
            <button type="submit" class="main" disabled={text.value.trim() === ""}>
              {t("send")}
            </button>
          </div>
        </form>
      )}
      {own?.state === "counted" ? (
        <p class="vote" data-vote="counted">
          {t("asked")} ✓
        </p>
      ) : (
        <VoteLine own={own} />
      )}
      {item.answers !== undefined && (
        <ul class="texts">
          {item.answers.map(({ id, text: each }) => (
            <li key={id} dir="auto">
              {each}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Time in which taps gather for one report, in ms. */
const cheerMs = 1_000;

export function Cheer({ show, item }: ItemProps) {
  const taps = useSignal(0);
  const timer = useRef(0);
  const waiting = useRef<number | null>(null);
  const actions = show.stats.get(item.id)?.value?.actions ?? 0;
  const own = show.votes.of(item.id).value;
  const isOff = !isOpen(item) || own?.state === "spent" || own?.state === "late";
  const options = item.options.length > 0 ? item.options : [null];
  function report(option: number): void {
    show.votes.cast(item.id, { options: item.options.length > 0 ? [option] : [] });
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      const { current: last } = waiting;
      waiting.current = null;
      if (last !== null) report(last);
    }, cheerMs);
  }
  function cheer(option: number): void {
    if (isOff) return;
    taps.value += 1;
    if (timer.current === 0) report(option);
    else waiting.current = option;
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
      <Loudness actions={actions} />
      <p class="quiet">{t("cheers", { count: actions })}</p>
      {own !== null && own.state !== "counted" && own.state !== "sending" && <VoteLine own={own} />}
    </>
  );
}

/** How loud the crowd is: cheers since the last figure beside the most there were. */
function Loudness({ actions }: { readonly actions: number }) {
  const level = useSignal(0);
  const known = useRef({ actions, most: 1 });
  useEffect(() => {
    const change = Math.max(0, actions - known.current.actions);
    known.current = { actions, most: Math.max(known.current.most, change) };
    level.value = Math.max(level.value, change / known.current.most);
    const timer = setInterval(() => {
      level.value = level.value < 0.05 ? 0 : level.value / 2;
    }, cheerMs);
    return () => clearInterval(timer);
  }, [actions]);
  return (
    <div class="loudness" aria-hidden="true">
      <span style={{ inlineSize: `${level.value * 100}%` }} />
    </div>
  );
}

/** Questions with options: polls, predictions and quizzes. */

import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { fieldOf, Picture, pictureOf, Rich, savesData, textOf } from "./content.tsx";
import {
  canVoteAgain,
  Head,
  type ItemProps,
  isOpen,
  isQuiz,
  Results,
  showsResults,
  VoteLine,
} from "./parts.tsx";
import type { Item, Stat } from "./show.ts";
import { percent, t } from "./texts.ts";
import type { OwnVote } from "./votes.ts";

export function Choice({ show, item }: ItemProps) {
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
    if (!isMany) show.votes.cast(item.id, { options: [option] });
    else if (value.includes(option)) marked.value = value.filter(each => each !== option);
    else if (value.length < most) marked.value = [...value, option];
  }
  function send(): void {
    show.votes.cast(item.id, { options: marked.value.toSorted((a, b) => a - b) });
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
      <Picture {...pictureOf(item, item.question)} />
      <Hints item={item} least={least} most={most} isMany={isMany && mayVote} />
      <fieldset class="options" aria-labelledby={`t-${item.id}`} ref={group} onKeyDown={onKeyDown}>
        {item.options.map((option, index) => (
          <Option
            key={index}
            item={item}
            label={textOf(option, "text") || String(index + 1)}
            picture={pictureOf(item, option)}
            option={index + 1}
            own={mine}
            isMarked={marked.value.includes(index + 1)}
            isOff={!mayVote || (isMany && marked.value.length >= most && !marked.value.includes(index + 1))}
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

interface HintsProps {
  readonly item: Item;
  readonly least: number;
  readonly most: number;
  /** True while several options make a vote. */
  readonly isMany: boolean;
}

/** How many options to choose, and what the right one wins. */
function Hints({ item, least, most, isMany }: HintsProps) {
  const points = Number(fieldOf(item.custom_fields, "points") ?? 0);
  return (
    <>
      {isMany && <p class="quiet">{t(least > 1 ? "chooseBetween" : "choose", { least, count: most })}</p>}
      {points > 0 && isOpen(item) && <p class="quiet">{t("worth", { count: points })}</p>}
    </>
  );
}

/** Returns the option that a key names; null: none. */
function optionOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent, { options }: Item): number | null {
  const option = Number(key);
  return option >= 1 && option <= options.length && !ctrlKey && !metaKey && !altKey ? option : null;
}

/** Whether the fan was right, as soon as the fan may know, and why. */
function Answer({ item, own }: { readonly item: Item; readonly own: OwnVote | null }) {
  const { correct_option: answer = 0 } = item;
  if (own?.state === "counted" && own.options.length > 0 && (answer > 0 || own.isRight !== undefined)) {
    const isRight = own.isRight ?? (own.options.length === 1 && own.options[0] === answer);
    return (
      <>
        <Verdict item={item} isRight={isRight} />
        <Explanation item={item} />
      </>
    );
  }
  return answer > 0 ? <Explanation item={item} /> : null;
}

interface OptionProps {
  readonly item: Item;
  readonly label: string;
  readonly picture: ReturnType<typeof pictureOf>;
  /** From 1 on. */
  readonly option: number;
  readonly own: OwnVote | null;
  readonly isMarked: boolean;
  readonly isOff: boolean;
  /** Absent while no results are shown. */
  readonly stat: Signal<Stat | undefined> | undefined;
  readonly onPress: () => void;
}

function Option({ item, label, picture, option, own, isMarked, isOff, stat, onPress }: OptionProps) {
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
        {!savesData && <Picture {...picture} />}
        <span dir="auto">{label}</span>
        {isMine && !isLost && <span class="note">{t(isQuiz(item) ? "yourAnswer" : "yourVote")}</span>}
        {isRight && <span class="note right">{t("rightAnswer")}</span>}
      </span>
      {votes !== undefined && <span class="part">{percent(part)}</span>}
    </button>
  );
}

function Verdict({ item, isRight }: { readonly item: Item; readonly isRight: boolean }) {
  const points = Number(fieldOf(item.custom_fields, "points") ?? 0);
  return (
    <p class="verdict" data-right={isRight}>
      {t(isRight ? "right" : "wrong")}
      {isRight && points > 0 && <span class="won">{t("won", { count: points })}</span>}
    </p>
  );
}

function Explanation({ item }: { readonly item: Item }) {
  const text = textOf(item.custom_fields, "explanation");
  return text === "" ? null : <Rich text={text} />;
}

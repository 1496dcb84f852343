/** The part of the form that every type has: who publishes an element, how fans vote, and when results are shown. */

import { useState } from "preact/hooks";
import type { ContentType } from "../../../../authoring/table/content_types.ts";
import type { Editing } from "./editing.ts";
import { choice, Labelled, numeric, toggle } from "./fields.tsx";

/** What each part of the form gets. */
export interface PartProps {
  readonly editing: Editing;
  readonly type: ContentType;
  /** Language of the content, or `all`. */
  readonly locale: string;
  readonly isFrozen: boolean;
  /** True if not even what stays open after the publication can be changed. */
  readonly isReadOnly: boolean;
}

const startModes = choice([
  ["manual", "when I take it"],
  ["timecode", "at a time of the show"],
]);
const resultModes = [
  ["vote", "after they have voted"],
  ["close", "once it is closed"],
  ["event_end", "after the show"],
  ["manual", "when I say"],
  ["never", "never"],
] as const;
const answerModes = [
  ["manual", "when I say"],
  ["auto", "by itself, some seconds after the end"],
] as const;

/** Who publishes the element, and when. */
function Start(props: Omit<PartProps, "type" | "locale">) {
  const { editing } = props;
  return (
    <>
      <Labelled
        {...props}
        path={["start_mode"]}
        label="Published"
        control={shown => startModes({ ...shown, onInput: mode => editing.chooseStart(mode) })}
      />
      {editing.value(["start_mode"]).value === "timecode" && (
        <Labelled
          {...props}
          path={["start_offset"]}
          label="Seconds after the start"
          help="Nothing is saved until you enter a time."
          control={numeric(1, { min: 0 })}
        />
      )}
    </>
  );
}

/** When it is open, how often fans may vote, and when results are shown. */
export function Details({ type, ...props }: PartProps) {
  const { editing, isReadOnly } = props;
  const [isOpen, setOpen] = useState(false);
  const isVote = (type.option ?? []).length > 0 || ["rating", "cheer", "ask"].includes(type.content_type);
  const number = (name: string, label: string, help?: string) => (
    <Labelled {...props} path={[name]} label={label} help={help} control={numeric(1, { min: 0 }, 0)} />
  );
  const open = { ...props, isFrozen: isReadOnly };
  // A fault that nobody sees is not mended.
  const hasFault = editing.faults.value.some(({ path }) => path?.length === 1 && path[0] !== "name");
  return (
    <details
      class="group"
      open={isOpen || hasFault}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>Time, votes and results</summary>
      <div class="pairs">
        {number("duration", "Open for, in seconds", "0: until you stop it")}
        <Start {...props} />
        {isVote && (
          <>
            {number("max_votes_per_user", "Votes of a fan", "0: as many as they like")}
            {number("max_votes_per_option", "Votes of a fan for one option", "0: as many as they like")}
            {number("min_options_per_vote", "At least this many options in a vote")}
            {number("max_options_per_vote", "At most this many options in a vote")}
            <Labelled
              {...props}
              path={["require_verified_user"]}
              label="Verified fans only"
              control={toggle}
            />
            <Labelled
              {...open}
              path={["reveal_results_mode"]}
              label="Results are shown"
              control={choice(resultModes)}
            />
            <Labelled
              {...open}
              path={["reveal_answer_mode"]}
              label="The answer is shown"
              control={choice(answerModes)}
            />
            {editing.value(["reveal_answer_mode"]).value === "auto" && (
              <Labelled
                {...open}
                path={["reveal_answer_in"]}
                label="Seconds between end and answer"
                control={numeric(1, { min: 0 }, 0)}
              />
            )}
            <Labelled
              {...open}
              path={["reveal_answer_on_vote"]}
              label="A fan sees the answer with the vote"
              control={toggle}
            />
          </>
        )}
      </div>
    </details>
  );
}

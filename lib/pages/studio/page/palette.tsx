/** Commands of the page: views say what they have, and the palette and the list of keys show it. */

import { signal } from "@preact/signals";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { announce, Dialog } from "./ui.tsx";

export interface Command {
  readonly label: string;
  /** The key that does it, as people write it: `T`, `Alt ↑`. */
  readonly shortcut?: string;
  /** Why it cannot be done now; null: it can. */
  readonly refusal?: string | null;
  readonly run: () => void;
}

type Source = () => readonly Command[];

const sources = signal<readonly Source[]>([]);
const opened = signal<"palette" | "keys" | null>(null);

/** Offers commands while a component is shown. They are asked for when the palette opens. */
export function useCommands(source: Source): void {
  const newest = useRef(source);
  newest.current = source;
  useEffect(() => {
    const own: Source = () => newest.current();
    sources.value = [own, ...sources.value];
    return () => {
      sources.value = sources.value.filter(each => each !== own);
    };
  }, []);
}

/** Returns true if what is typed goes into a field. */
function isTyping({ target }: Event): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

/** Opens the palette by Ctrl K and the list of keys by `?`. */
export function openByKey(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey } = event;
  const isPalette = (ctrlKey || metaKey) && key.toLowerCase() === "k";
  const isHelp = key === "?" && !ctrlKey && !metaKey && !altKey && !isTyping(event);
  if ((!isPalette && !isHelp) || document.querySelector("dialog[open]") !== null) return;
  event.preventDefault();
  opened.value = isPalette ? "palette" : "keys";
}

export function openPalette(): void {
  opened.value = "palette";
}

/** The palette or the list of keys, where it is open; the frame of the page has it once. */
export function Palette() {
  const close = (): void => {
    opened.value = null;
  };
  if (opened.value === null) return null;
  const commands = sources.value.flatMap(source => source());
  return opened.value === "palette" ? (
    <Chooser commands={commands} close={close} />
  ) : (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {[
          { label: "All commands", shortcut: "Ctrl K" },
          { label: "This list", shortcut: "?" },
          ...commands,
        ].map(
          ({ label, shortcut }) =>
            shortcut !== undefined && (
              <div key={label}>
                <dt>{label}</dt>
                <dd>
                  <kbd>{shortcut}</kbd>
                </dd>
              </div>
            ),
        )}
      </dl>
      <div class="row end">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

interface ChooserProps {
  readonly commands: readonly Command[];
  readonly close: () => void;
}

function Chooser({ commands, close }: ChooserProps) {
  const id = useId();
  const [text, setText] = useState("");
  const [index, setIndex] = useState(0);
  const words = text.toLowerCase().split(/\s+/);
  const found = commands.filter(({ label }) => words.every(word => label.toLowerCase().includes(word)));
  const chosen = found[Math.min(index, found.length - 1)];
  function run(command: Command | undefined): void {
    if (command === undefined) return;
    close();
    // The dialog gives the focus back first.
    const { refusal = null } = command;
    setTimeout(() => (refusal === null ? command.run() : announce(refusal)));
  }
  function onKeyDown(event: KeyboardEvent): void {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      setIndex((index + by + found.length) % Math.max(1, found.length));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      run(chosen);
    }
  }
  return (
    <Dialog title="Commands" class="palette" onClose={close}>
      <input
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        {...(chosen !== undefined && { "aria-activedescendant": `${id}-${found.indexOf(chosen)}` })}
        autoComplete="off"
        placeholder="What do you want to do?"
        value={text}
        onInput={event => {
          setText(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={id} aria-label="Commands">
        {found.map((command, at) => (
          <div
            key={command.label}
            id={`${id}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={command === chosen}
            aria-disabled={(command.refusal ?? null) !== null}
            ref={element => {
              if (command === chosen) element?.scrollIntoView({ block: "nearest" });
            }}
            onPointerDown={event => {
              event.preventDefault();
              run(command);
            }}
          >
            <span>{command.label}</span>
            {command.shortcut !== undefined && <kbd>{command.shortcut}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="quiet">No command has these words.</p>}
    </Dialog>
  );
}

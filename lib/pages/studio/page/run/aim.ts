/** Presses of what came under the pointer a moment ago, as rows and buttons moved: nobody meant them. */

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { announce } from "../ui.tsx";

/** Time for which what has come under the pointer cannot be pressed, in ms. */
const strayMs = 600;
/** How far a pointer moves that nobody means to move, in px. */
const trembleMax = 24;

export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Follows what is under the pointer. */
export class Aim {
  readonly #nameAt: (place: Place) => string;
  #place: Place | null = null;
  #under = "";
  #moved: (Place & { readonly at: number }) | null = null;

  /** `nameAt` names the button at a place; "" where there is none. */
  constructor(nameAt: (place: Place) => string) {
    this.#nameAt = nameAt;
  }

  /** Takes where the pointer is, or that the page was scrolled below it. */
  point(place = this.#place): void {
    const moved = this.#moved;
    this.#place = place;
    if (place === null) return;
    this.#under = this.#nameAt(place);
    if (moved !== null && Math.hypot(place.x - moved.x, place.y - moved.y) > trembleMax) this.#moved = null;
  }

  /** Takes that the page was drawn anew, at a time in ms. */
  draw(at: number): void {
    if (this.#place === null) return;
    const under = this.#nameAt(this.#place);
    if (under !== this.#under) this.#moved = { ...this.#place, at };
    this.#under = under;
  }

  /** Returns true if a press meets a button that was not there a moment ago. */
  isStray(now: number): boolean {
    return this.#moved !== null && now - this.#moved.at < strayMs && this.#under !== "";
  }
}

/** Where rows and buttons come and go while a show runs. */
const moving = ":is(.bar-of-run, .timeline) :is(button, a, summary):not(dialog *)";

/** Names a button by its text and its row. */
function nameAt({ x, y }: Place): string {
  const button = document.elementFromPoint(x, y)?.closest(moving);
  if (button === null || button === undefined) return "";
  return `${button.closest<HTMLElement>("[data-id]")?.dataset.id} ${button.ariaLabel ?? button.textContent}`;
}

/** Ignores presses inside an element that meet what came under the pointer a moment ago. */
export function useAim(root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const { current } = root;
    if (current === null) return;
    const leave = new AbortController();
    const options = { signal: leave.signal, capture: true, passive: true };
    const aim = new Aim(nameAt);
    const point = ({ clientX: x, clientY: y }: PointerEvent): void => aim.point({ x, y });
    current.addEventListener("pointermove", point, options);
    current.addEventListener("pointerdown", point, options);
    addEventListener("scroll", () => aim.point(), options);
    const observer = new MutationObserver(() => aim.draw(performance.now()));
    observer.observe(current, { childList: true, subtree: true });
    function check(event: MouseEvent): void {
      // A key presses what has the focus, wherever it is.
      if (event.detail === 0 || !aim.isStray(performance.now())) return;
      event.preventDefault();
      event.stopPropagation();
      announce("Not done, as the rows have just moved. Press again.");
    }
    current.addEventListener("click", check, { signal: leave.signal, capture: true });
    return () => {
      leave.abort();
      observer.disconnect();
    };
  }, []);
}

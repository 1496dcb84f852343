/** Elements of shows as votes see them. */

/** What a producer allows of votes for an element. 0 means no bound. */
export interface VoteBounds {
  readonly perUser: number;
  readonly perOption: number;
  readonly optionsMin: number;
  readonly optionsMax: number;
  readonly needsVerifiedUser: boolean;
}

/** An element at an instant of the store's clock. All times are Unix ms; null: nobody knows. */
export interface ElementMoment {
  /** True while it is current and its answer is not public. */
  readonly isOpen: boolean;
  readonly publishedAt: number | null;
  /** When its answer is public for everybody; null where it was revoked. */
  readonly answerAt: number | null;
}

/** An element that actions name. */
export interface VotedElement {
  readonly id: string;
  readonly eventId: string;
  readonly projectId: string;
  readonly spaceId: string;
  readonly type: string;
  /** Options are numbered from 1. */
  readonly options: number;
  readonly bounds: VoteBounds;
  /** The number of the right option; null: none is known. */
  readonly rightOption: number | null;
  /** True if a user sees the answer with the own vote. */
  readonly tellsAnswer: boolean;
  readonly points: number;
  /** Most characters of a text that a user sends with a vote; 0: it takes none. */
  readonly textMax: number;
  /** Returns what it is at a time of the store, in Unix ms. */
  at(now: number): ElementMoment;
}

/** Finds elements, as this process knows them. */
export interface ElementSource {
  /** Returns an element as it was within the last second; null: there is none. */
  element(id: string): VotedElement | null | Promise<VotedElement | null>;
  /** Returns an element as it is in the store. */
  currentElement(id: string): Promise<VotedElement | null>;
  /** Returns the elements of an event in their order; null: there is no such event. */
  elementsOf(eventId: string): Promise<{
    readonly projectId: string;
    readonly spaceId: string;
    readonly elements: readonly VotedElement[];
  } | null>;
  /** Keeps the text of a vote, once for its action. */
  keepAnswer(sent: SentText): Promise<void>;
  /** Tells if the user has proved an address or is vouched for by another provider. */
  isVerifiedUser(projectId: string, userId: string): Promise<boolean>;
}

/** A text that a user sent to an element. */
export interface SentText {
  readonly element: Pick<VotedElement, "id" | "projectId">;
  readonly userId: string;
  readonly actionId: string | undefined;
  readonly text: string;
  /** Most texts of the user that are kept: one for each vote. */
  readonly textsMax: number;
}

/** What rules read of an element, as the history records it. */
export interface ElementFacts {
  readonly id: string;
  readonly type: string;
  readonly points: number;
  readonly seconds: number;
  /** Absent while the user may not know. */
  readonly isRight?: boolean | undefined;
}

const optionsMax = 100;

/** Returns the numbers of a choice in order: one, or several as `"1,3"`; null where it is not well-formed. */
export function optionsOf(option: unknown): readonly number[] | null {
  const texts = typeof option === "string" ? option.split(",", optionsMax + 1) : [option];
  const numbers = texts.map(text => (text === "" ? Number.NaN : Number(text)));
  const isOption = (each: number): boolean => Number.isInteger(each) && each >= 1 && each <= optionsMax;
  return numbers.every(isOption) ? [...new Set(numbers)].sort((a, b) => a - b) : null;
}

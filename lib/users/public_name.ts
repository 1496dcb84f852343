/** Control characters and those that change text direction, with which a name could disguise itself or others. */
const refused = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** Any visible character: neither space nor format character. */
const visible = /[^\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Tells whether a text can be shown as a user's name: part of it is visible, and it does not affect the text around it. */
export function isPublicName(text: string): boolean {
  return text.isWellFormed() && visible.test(text) && !refused.test(text);
}

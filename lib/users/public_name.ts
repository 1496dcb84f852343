/** Control characters, and those that turn the direction of the text around them: such a name would disguise itself or others. */
const refused = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** Anything that can be seen: neither space nor format character. */
const visible = /[^\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Whether a text can stand for a user before others: something of it is seen, and it changes nothing around it. */
export function isPublicName(text: string): boolean {
  return text.isWellFormed() && visible.test(text) && !refused.test(text);
}

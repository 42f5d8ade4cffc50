/** What tags may be: S3's limits. */
import { OBJECT_TAGS_MAX, TAG_KEY_LENGTH_MAX, TAG_VALUE_LENGTH_MAX } from "@svc/contract"
import type { Tags } from "../object-store.ts"

/** S3 keeps these for itself. */
const RESERVED = /^aws:/i

/** What is wrong with the tags, or undefined. */
export const tagProblem = (
  pairs: readonly (readonly [string, string])[],
  countMax: number = OBJECT_TAGS_MAX,
): string | undefined => {
  if (pairs.length > countMax) return `there are at most ${countMax} tags`
  if (new Set(pairs.map(([key]) => key)).size < pairs.length) return "a tag comes twice"
  for (const [key, value] of pairs) {
    if (key === "" || key.length > TAG_KEY_LENGTH_MAX)
      return `the key of a tag has 1 to ${TAG_KEY_LENGTH_MAX} characters`
    if (value.length > TAG_VALUE_LENGTH_MAX)
      return `the value of a tag has at most ${TAG_VALUE_LENGTH_MAX} characters`
    if (RESERVED.test(key)) return "the key of a tag must not begin with aws:"
    if (/\0/.test(key + value) || !(key + value).isWellFormed()) return "a tag holds what is no text"
  }
  return undefined
}

/** In a form that a name such as `__proto__` does not change. */
export const tagsOf = (pairs: readonly (readonly [string, string])[]): Tags => Object.fromEntries(pairs)

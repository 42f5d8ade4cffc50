/** Which language a text is in, by the frequency of its letters' sequences. */
import { eld } from "eld/large"
import type { Detected } from "./tasks.ts"

const TEXT_LENGTH_MAX = 5_000

export const detectLanguage = (text: string): Detected => {
  const found = eld.detect(text.slice(0, TEXT_LENGTH_MAX))
  if (found.language === "") return { language: "und", confidence: 0 }
  const score = Math.min(1, found.getScores()[found.language] ?? 0)
  return {
    language: found.isReliable() ? found.language : "und",
    confidence: Math.round(score * 1000) / 1000,
  }
}

/** Questions in English to statements of PostgreSQL, by rules over a database's catalog or by a language model. */
export { TranslationError, type TranslationErrorCode } from "./errors.ts"
export type { LanguageModel } from "./language-model.ts"
export { createUpstream } from "./openai-upstream.ts"
export {
  createTranslator,
  type TranslateRequest,
  type Translation,
  type Translator,
  type WithSession,
} from "./translator.ts"
export { type CheckReadOnly, type ResultTypes, RUN_TIMEOUT_MS } from "./validate.ts"

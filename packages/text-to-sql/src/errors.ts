export type TranslationErrorCode =
  /** Neither the rules nor a model can answer the question; asking again changes nothing. */
  | "not_understood"
  /** The question asks to change data. */
  | "not_read_only"
  /** The statement was to be run, and took too long. */
  | "run_timed_out"
  /** The language model may answer later. */
  | "model_unavailable"
  /** The language model's server misbehaved. */
  | "model_failed"

/** Why a question has no statement. The message is for the person who asked. */
export class TranslationError extends Error {
  override readonly name = "TranslationError"
  readonly code: TranslationErrorCode

  constructor(code: TranslationErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** Why a language model did not answer: `unavailable` when it may later, `refused` when it never will. */
export class ModelError extends Error {
  override readonly name = "ModelError"
  readonly kind: "unavailable" | "refused"

  constructor(kind: "unavailable" | "refused", message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

/** What the platform's process and the speech process tell each other. */

export const SPEECH_FORMATS = ["mp3", "wav", "pcm"] as const
export type SpeechFormat = (typeof SPEECH_FORMATS)[number]

export interface SpeechTask {
  readonly text: string
  /** A name of OpenAI's, a language, or one of the engine's own, with or without a variant: `en-gb+f3`. */
  readonly voice: string
  /** 1 is the voice's own speed. */
  readonly speed: number
  readonly format: SpeechFormat
}

export interface SpeechOrder extends SpeechTask {
  /** Longest speech that is made. */
  readonly secondsMax: number
}

/** `refused` is the request's own fault, `broken` is not. */
export type SpeechAnswer =
  | { readonly bytes: Uint8Array }
  | { readonly refused: string }
  | { readonly broken: string }

/** The packages that the process loads; both are optional dependencies. */
export const SPEECH_PACKAGE = "@echogarden/espeak-ng-emscripten"
export const MP3_PACKAGE = "wasm-media-encoders"

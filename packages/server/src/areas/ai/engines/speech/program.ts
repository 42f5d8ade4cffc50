/**
 * The speech process: espeak-ng and an MP3 encoder, both WebAssembly. It is a process of its own because espeak-ng has
 * another licence than the platform, because it blocks while it speaks, and because a crash ends this process alone.
 */
import { resample, toPcm, toWav } from "./audio.ts"
import {
  MP3_PACKAGE,
  SPEECH_PACKAGE,
  type SpeechAnswer,
  type SpeechFormat,
  type SpeechOrder,
} from "./messages.ts"

/** What is used of the packages; they bring no types, or may be absent. */
interface Espeak {
  get_samplerate(): number
  set_voice(name: string): number
  set_rate(wordsPerMinute: number): void
  list_voices(): readonly { readonly identifier: string; readonly languages: readonly { name: string }[] }[]
  /** The callback ends it by `true`. */
  synthesize(ssml: string, callback: (samples: Int16Array) => boolean): void
}

interface Encoder {
  configure(options: { sampleRate: number; channels: 1; bitrate: number }): void
  /** The bytes are the encoder's until the next call. */
  encode(channels: readonly Float32Array[]): Uint8Array
  finalize(): Uint8Array
}

const WORDS_PER_MINUTE = 175
const PCM_RATE = 24_000
const MP3_KBITS = 64
const MP3_SAMPLES_AT_ONCE = 65_536

/** OpenAI's voices as American English ones that differ from each other. */
const OPENAI_VOICES: Readonly<Record<string, string>> = {
  alloy: "en-us",
  ash: "en-us+m1",
  ballad: "en-us+m2",
  cedar: "en-us+m8",
  coral: "en-us+f1",
  echo: "en-us+m3",
  fable: "en-gb+m4",
  marin: "en-us+f5",
  nova: "en-us+f2",
  onyx: "en-us+m7",
  sage: "en-us+f3",
  shimmer: "en-us+f4",
  verse: "en-us+m5",
}
const VOICE = /^([\w/-]+)(\+[mf][1-8])?$/

const load = async <Module>(name: string): Promise<Module> => (await import(name)) as Module

const loadEspeak = async (): Promise<Espeak> => {
  const { default: start } = await load<{
    default(): Promise<{ readonly eSpeakNGWorker: new () => Espeak }>
  }>(SPEECH_PACKAGE)
  return new (await start()).eSpeakNGWorker()
}

const loadEncoder = async (): Promise<Encoder> =>
  (await load<{ createMp3Encoder(): Promise<Encoder> }>(MP3_PACKAGE)).createMp3Encoder()

/** The engine's own name of a voice; undefined where it has none. */
const identifierOf = (espeak: Espeak, voice: string): string | undefined => {
  const [, language = "", variant = ""] = VOICE.exec(OPENAI_VOICES[voice] ?? voice) ?? []
  const wanted = language.toLowerCase()
  const voices = espeak.list_voices()
  const found =
    voices.find(({ identifier }) => identifier.toLowerCase() === wanted) ??
    // Dialects list the language that they belong to after their own.
    voices.find(({ languages }) => languages[0]?.name.toLowerCase() === wanted) ??
    voices.find(({ languages }) => languages.some(({ name }) => name.toLowerCase() === wanted))
  return found && found.identifier + variant
}

/** The engine reads SSML, and phonemes between brackets: a text has neither. */
const plain = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("[[", "[ [")

/** Undefined where it would be longer than is allowed. */
const samplesOf = (espeak: Espeak, text: string, secondsMax: number): Int16Array | undefined => {
  const parts: Int16Array[] = []
  const most = secondsMax * espeak.get_samplerate()
  let length = 0
  espeak.synthesize(plain(text), samples => {
    parts.push(samples)
    length += samples.length
    return length > most
  })
  if (length > most) return undefined
  const all = new Int16Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const toMp3 = (encoder: Encoder, samples: Int16Array, sampleRate: number): Buffer => {
  encoder.configure({ sampleRate, channels: 1, bitrate: MP3_KBITS })
  const parts: Buffer[] = []
  for (let from = 0; from < samples.length; from += MP3_SAMPLES_AT_ONCE) {
    const floats = Float32Array.from(
      samples.subarray(from, from + MP3_SAMPLES_AT_ONCE),
      value => value / 32_768,
    )
    parts.push(Buffer.from(encoder.encode([floats])))
  }
  parts.push(Buffer.from(encoder.finalize()))
  return Buffer.concat(parts)
}

let espeak: Promise<Espeak> | undefined
let encoder: Promise<Encoder> | undefined

const encode = async (format: SpeechFormat, samples: Int16Array, rate: number): Promise<Buffer> => {
  if (format === "wav") return toWav(samples, rate)
  if (format === "pcm") return toPcm(resample(samples, rate, PCM_RATE))
  encoder ??= loadEncoder()
  return toMp3(await encoder, samples, rate)
}

const speak = async ({ text, voice, speed, format, secondsMax }: SpeechOrder): Promise<SpeechAnswer> => {
  espeak ??= loadEspeak()
  const engine = await espeak
  const identifier = identifierOf(engine, voice)
  if (identifier === undefined || engine.set_voice(identifier) !== 0) {
    const names = Object.keys(OPENAI_VOICES).join(", ")
    return {
      refused: `\`voice\` is one of ${names}, or a language with or without a variant, as in \`en-gb+f3\``,
    }
  }
  engine.set_rate(Math.round(WORDS_PER_MINUTE * speed))
  const samples = samplesOf(engine, text, secondsMax)
  if (!samples) return { refused: `\`input\` takes longer than ${secondsMax} seconds to read aloud` }
  return { bytes: await encode(format, samples, engine.get_samplerate()) }
}

process.on("message", (order: SpeechOrder) => {
  speak(order)
    .catch(
      (error: unknown): SpeechAnswer => ({ broken: error instanceof Error ? error.message : String(error) }),
    )
    .then(answer => process.send?.(answer))
})
process.on("disconnect", () => process.exit(0))

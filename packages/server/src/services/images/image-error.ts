/** Why an image cannot be had: a sentence for the person who named it. */
export class ImageError extends Error {
  override readonly name = "ImageError"
}

/** A pull was aborted by the shutdown of the server; it is repeated after the next start. */
export class ImagesStoppedError extends Error {
  override readonly name = "ImagesStoppedError"
}

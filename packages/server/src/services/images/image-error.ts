/** Why an image cannot be had: a sentence for the person who named it. */
export class ImageError extends Error {
  override readonly name = "ImageError"
}

/** An image does not come because the platform stops: whoever wanted it wants it again at the next start. */
export class ImagesStoppedError extends Error {
  override readonly name = "ImagesStoppedError"
}

"""AdmissionReview v1 on the wire: bytes to a request of the rules, and their answer to bytes.

`server` feeds it; the rules never see the wire format.
"""

from __future__ import annotations

import base64

import msgspec

from volcano.api.admission import AdmissionReview, ReviewRequest, ReviewResponse
from volcano.api.meta import Status, StatusCause, StatusDetails
from volcano.webhooks.rules import AdmissionRequest, AdmissionResponse

API_VERSION = "admission.k8s.io/v1"

_decoder = msgspec.json.Decoder(AdmissionReview)
_encoder = msgspec.json.Encoder()


class BadReview(ValueError):
    """The body is not an AdmissionReview that can be answered."""


def decode(body: bytes) -> AdmissionRequest:
    try:
        review = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadReview(f"the body is not an AdmissionReview: {error}") from error
    if review.api_version != API_VERSION:
        raise BadReview(f"expected an AdmissionReview of {API_VERSION}, got {review.api_version or 'no apiVersion'}")
    if review.request is None:
        raise BadReview("the AdmissionReview carries no request")
    return _request(review.request)


def encode(uid: str, answer: AdmissionResponse) -> bytes:
    response = ReviewResponse(uid=uid, allowed=answer.allowed, warnings=list(answer.warnings))
    if not answer.allowed:
        causes = [
            StatusCause(reason="FieldValueInvalid", message=cause.message, field=cause.field) for cause in answer.causes
        ]
        # Not `Invalid`: kubectl would show the causes alone, and not the message that people search for.
        response.status = Status(
            status="Failure",
            code=400,
            reason="BadRequest",
            message=answer.message,
            details=StatusDetails(causes=causes),
        )
    elif answer.patch:
        response.patch = base64.b64encode(_encoder.encode(answer.patch)).decode()
        response.patch_type = "JSONPatch"
    return _encoder.encode(AdmissionReview(api_version=API_VERSION, kind="AdmissionReview", response=response))


def _request(request: ReviewRequest) -> AdmissionRequest:
    return AdmissionRequest(
        uid=request.uid,
        operation=request.operation,
        group=request.resource.group,
        resource=request.resource.resource,
        subresource=request.sub_resource,
        name=request.name,
        namespace=request.namespace,
        object=request.object,
        old_object=request.old_object,
        dry_run=bool(request.dry_run),
    )

"""Libraries of networks for pictures: each case is named after the library that it needs."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from worker import fill, gradients, numbers, trained

#: Sizes that all kinds of vit-pytorch take.
SIZES = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 2,
         "mlp_dim": 48}


def diffusers() -> Any:
    from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DModel

    unet = fill(UNet2DModel(
        sample_size=16, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D")))
    noising, times = DDPMScheduler(num_train_timesteps=50), torch.tensor([3, 40])
    pictures, noise = numbers(2, 3, 16, 16), numbers(2, 3, 16, 16, seed=2)
    noisy = noising.add_noise(pictures, noise, times)
    found = trained(unet, lambda net: functional.mse_loss(net(noisy, times).sample, noise))
    sampling, x = DDIMScheduler(num_train_timesteps=50), noise
    sampling.set_timesteps(5)
    with torch.no_grad():
        for time in sampling.timesteps:
            x = sampling.step(unet(x, time).sample, time, x).prev_sample
    vae = fill(AutoencoderKL(
        block_out_channels=(32, 64), norm_num_groups=8, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2))
    return found, x, trained(vae, lambda net: functional.mse_loss(net(pictures).sample, pictures))


def kornia() -> Any:
    import kornia

    x = numbers(2, 3, 24, 32).sigmoid().requires_grad_()
    found = [
        kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), kornia.filters.sobel(x),
        kornia.filters.median_blur(x, (3, 3)), kornia.filters.canny(x)[0],
        kornia.color.rgb_to_lab(x), kornia.color.rgb_to_hsv(x), kornia.color.rgb_to_yuv(x),
        kornia.geometry.rotate(x, torch.tensor([10.0, 30.0])),
        kornia.geometry.scale(x, torch.tensor([1.2, 0.8])), kornia.geometry.resize(x, (12, 16)),
        kornia.morphology.dilation(x, torch.ones(3, 3)), kornia.enhance.adjust_hue(x, 0.3),
        kornia.enhance.equalize_clahe(x.detach()), kornia.feature.harris_response(x),
        kornia.losses.ssim_loss(x, x.detach() * 0.9, 5)]
    sum(each.double().square().mean() for each in found if each.requires_grad).backward()
    kinds = kornia.augmentation
    steps = kinds.AugmentationSequential(
        kinds.RandomAffine(20.0, p=1.0), kinds.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
        kinds.RandomPerspective(p=1.0), kinds.RandomHorizontalFlip(), kinds.RandomErasing(p=1.0),
        data_keys=["input", "mask", "keypoints"])
    y = x.detach()
    return found, x.grad, steps(y, (y > 0.5).float(), numbers(2, 5, 2))


def segmentation_models_pytorch() -> Any:
    import segmentation_models_pytorch as smp

    x, found = numbers(2, 3, 64, 64), []
    y = (numbers(2, 1, 64, 64, seed=2) > 0).float()
    for name in ("Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "DeepLabV3Plus"):
        net = fill(getattr(smp, name)("resnet18", encoder_weights=None, classes=1)).eval()
        scores = net(x)
        loss = smp.losses.DiceLoss("binary")(scores, y) + smp.losses.FocalLoss("binary")(scores, y)
        loss.backward()
        counts = smp.metrics.get_stats(scores.sigmoid(), y.long(), mode="binary", threshold=0.5)
        found.append([loss, gradients(net), smp.metrics.iou_score(*counts, reduction="micro")])
    return found


def open_clip_torch() -> Any:
    import open_clip

    text = {"context_length": 12, "vocab_size": 99, "width": 32, "heads": 2, "layers": 2}
    sight = {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16}
    words, loss = (90 * numbers(4, 12).sigmoid()).long(), open_clip.ClipLoss()
    return trained(fill(open_clip.model.CLIP(32, sight, text)),
                   lambda net: loss(*net(numbers(4, 3, 32, 32), words)))


def vit_pytorch() -> Any:
    import vit_pytorch
    from vit_pytorch import cait, deepvit, simple_vit, vit_for_small_dataset

    found = []
    for kind, further in ((vit_pytorch.ViT, {}), (simple_vit.SimpleViT, {}), (deepvit.DeepViT, {}),
                          (vit_for_small_dataset.ViT, {}), (cait.CaiT, {"cls_depth": 1})):
        found.append(trained(fill(kind(**SIZES, **further)), lambda net: net(
            numbers(2, 3, 32, 32)).square().mean()))
    return found


def denoising_diffusion_pytorch() -> Any:
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    x = numbers(2, 3, 16, 16).sigmoid()
    net = GaussianDiffusion(fill(Unet(dim=16, dim_mults=(1, 2))), image_size=16, timesteps=20,
                            sampling_timesteps=5, objective="pred_v")

    def loss(net: Any) -> Any:
        torch.manual_seed(1)
        return net(x)

    return trained(net, loss), net.sample(batch_size=2), net.interpolate(x[:1], x[1:], t=5)


def pytorch_msssim() -> Any:
    from pytorch_msssim import SSIM, ms_ssim, ssim

    x, y = (numbers(1, 3, 180, 180, seed=seed).sigmoid() for seed in (1, 2))
    x.requires_grad_()
    found = [ssim(x, y, data_range=1), ms_ssim(x, x.detach() * 0.9, data_range=1),
             SSIM(data_range=1, channel=3, nonnegative_ssim=True)(x, y)]
    sum(found).backward()
    return found, x.grad


def lpips() -> Any:
    import lpips

    found = []
    for kind in ("alex", "vgg", "squeeze"):
        net = fill(lpips.LPIPS(net=kind, pretrained=False, pnet_rand=True, verbose=False))
        x = numbers(1, 3, 64, 64).tanh().requires_grad_()
        distance = net(x, numbers(1, 3, 64, 64, seed=2).tanh())
        distance.mean().backward()
        found.append([distance, x.grad])
    return found


CASES = {each.__name__: each for each in (
    diffusers, kornia, segmentation_models_pytorch, open_clip_torch, vit_pytorch,
    denoising_diffusion_pytorch, pytorch_msssim, lpips)}
